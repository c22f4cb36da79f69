//! Measures every operation of an API.
//!
//! dropshot calls an operation directly, with nothing in between where all of them could be
//! measured. So it is done in each operation, and this attribute does it: on the implementation of
//! an API trait it puts around each operation's body what counts it and its duration. None can be
//! forgotten, and none is longer for it.

use proc_macro::TokenStream;
use quote::quote;
use syn::{FnArg, Ident, ImplItem, ImplItemFn, ItemImpl, LitStr, Pat, ReturnType, parse_quote};

/// `#[measured("NAME")]` on the implementation of an API trait: `NAME` is the API's in the metrics.
#[proc_macro_attribute]
pub fn measured(api: TokenStream, item: TokenStream) -> TokenStream {
    let api = syn::parse_macro_input!(api as LitStr);
    let mut item = syn::parse_macro_input!(item as ItemImpl);
    for member in &mut item.items {
        let ImplItem::Fn(operation) = member else { continue };
        if let Err(error) = measure(&api, operation) {
            return error.into_compile_error().into();
        }
    }
    quote!(#item).into()
}

fn measure(api: &LitStr, operation: &mut ImplItemFn) -> syn::Result<()> {
    let context = request_context(operation)?;
    let ReturnType::Type(_, result) = &operation.sig.output else {
        return Err(syn::Error::new_spanned(&operation.sig, "an operation returns a result"));
    };
    let body = &operation.block;
    operation.block = parse_quote!({
        let measured = crate::http::measure::Measured::begin(#api, &#context);
        let audit = crate::http::audit::Audit::of(#api, &#context);
        let result: #result = crate::http::audit::audited(audit, async move #body).await;
        measured.end(&result);
        result
    });
    Ok(())
}

fn request_context(operation: &ImplItemFn) -> syn::Result<Ident> {
    let first = operation.sig.inputs.first();
    if let Some(FnArg::Typed(argument)) = first
        && let Pat::Ident(name) = &*argument.pat
    {
        return Ok(name.ident.clone());
    }
    Err(syn::Error::new_spanned(&operation.sig, "an operation begins with its request's context"))
}
