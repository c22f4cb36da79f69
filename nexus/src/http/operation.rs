//! Operations by their methods and paths, for who looks at requests before the router does.

/// A method and the segments of a path; none for a segment that is a variable.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Operation {
    method: String,
    path: Vec<Option<String>>,
}

impl Operation {
    /// The operation with this path, in which variables are in braces.
    pub fn new(method: &str, path: &str) -> Self {
        let fixed = |segment: &str| (!segment.starts_with('{')).then(|| segment.to_string());
        Operation { method: method.to_string(), path: segments(path).map(fixed).collect() }
    }

    /// Whether a request is for it.
    pub fn is(&self, method: &str, path: &str) -> bool {
        let mut asked = segments(path);
        self.method == method
            && self.path.iter().all(|fixed| match (fixed, asked.next()) {
                (_, None) => false,
                (None, Some(_)) => true,
                (Some(fixed), Some(segment)) => fixed == segment,
            })
            && asked.next().is_none()
    }
}

fn segments(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|segment| !segment.is_empty())
}
