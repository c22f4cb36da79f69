//! The tables as diesel sees them; `migrations/` is what makes them.

diesel::table! {
    silo (id) {
        id -> Uuid,
        name -> Text,
        description -> Text,
        time_created -> Timestamptz,
        time_modified -> Timestamptz,
        time_deleted -> Nullable<Timestamptz>,
        discoverable -> Bool,
        admin_group_name -> Nullable<Text>,
        mapped_fleet_roles -> Jsonb,
        device_token_max_ttl_seconds -> Nullable<Int8>,
    }
}

diesel::table! {
    silo_group (id) {
        id -> Uuid,
        silo_id -> Uuid,
        external_id -> Text,
        time_created -> Timestamptz,
        time_modified -> Timestamptz,
        time_deleted -> Nullable<Timestamptz>,
    }
}

diesel::table! {
    silo_group_membership (silo_group_id, silo_user_id) {
        silo_group_id -> Uuid,
        silo_user_id -> Uuid,
    }
}

diesel::table! {
    user_builtin (id) {
        id -> Uuid,
        name -> Text,
        description -> Text,
        time_created -> Timestamptz,
        time_modified -> Timestamptz,
    }
}

diesel::table! {
    console_session (id) {
        id -> Uuid,
        silo_user_id -> Uuid,
        token_hash -> Binary,
        time_created -> Timestamptz,
        time_last_used -> Timestamptz,
    }
}

diesel::table! {
    device_auth_request (user_code) {
        user_code -> Text,
        device_code_hash -> Binary,
        client_id -> Uuid,
        token_ttl_seconds -> Nullable<Int8>,
        time_created -> Timestamptz,
        time_expires -> Timestamptz,
        silo_user_id -> Nullable<Uuid>,
        token_time_expires -> Nullable<Timestamptz>,
    }
}

diesel::table! {
    silo_user (id) {
        id -> Uuid,
        silo_id -> Uuid,
        external_id -> Text,
        password_hash -> Nullable<Text>,
        time_created -> Timestamptz,
        time_modified -> Timestamptz,
        time_deleted -> Nullable<Timestamptz>,
    }
}

diesel::table! {
    role_assignment (identity_id, resource_type, resource_id, role_name, identity_type) {
        resource_type -> Text,
        resource_id -> Uuid,
        role_name -> Text,
        identity_type -> Text,
        identity_id -> Uuid,
    }
}

diesel::table! {
    device_access_token (id) {
        id -> Uuid,
        silo_user_id -> Uuid,
        token_hash -> Binary,
        time_created -> Timestamptz,
        time_expires -> Nullable<Timestamptz>,
    }
}

diesel::table! {
    project (id) {
        id -> Uuid,
        silo_id -> Uuid,
        name -> Text,
        description -> Text,
        time_created -> Timestamptz,
        time_modified -> Timestamptz,
        time_deleted -> Nullable<Timestamptz>,
    }
}

diesel::table! {
    disk (id) {
        id -> Uuid,
        project_id -> Uuid,
        name -> Text,
        description -> Text,
        size -> BigInt,
        block_size -> Integer,
        disk_type -> Text,
        image_id -> Nullable<Uuid>,
        snapshot_id -> Nullable<Uuid>,
        read_only -> Bool,
        state -> Text,
        instance_id -> Nullable<Uuid>,
        slot -> Nullable<SmallInt>,
        time_created -> Timestamptz,
        time_modified -> Timestamptz,
        time_deleted -> Nullable<Timestamptz>,
    }
}

diesel::table! {
    snapshot (id) {
        id -> Uuid,
        project_id -> Uuid,
        name -> Text,
        description -> Text,
        disk_id -> Uuid,
        size -> BigInt,
        block_size -> Integer,
        time_created -> Timestamptz,
        time_modified -> Timestamptz,
        time_deleted -> Nullable<Timestamptz>,
    }
}

diesel::table! {
    image (id) {
        id -> Uuid,
        silo_id -> Uuid,
        project_id -> Nullable<Uuid>,
        name -> Text,
        description -> Text,
        os -> Text,
        version -> Text,
        size -> BigInt,
        block_size -> Integer,
        time_created -> Timestamptz,
        time_modified -> Timestamptz,
        time_deleted -> Nullable<Timestamptz>,
    }
}

diesel::table! {
    ssh_key (id) {
        id -> Uuid,
        silo_user_id -> Uuid,
        name -> Text,
        description -> Text,
        public_key -> Text,
        time_created -> Timestamptz,
        time_modified -> Timestamptz,
        time_deleted -> Nullable<Timestamptz>,
    }
}

diesel::table! {
    instance_ssh_key (instance_id, ssh_key_id) {
        instance_id -> Uuid,
        ssh_key_id -> Uuid,
    }
}

diesel::table! {
    silo_quotas (silo_id) {
        silo_id -> Uuid,
        cpus -> BigInt,
        memory -> BigInt,
        storage -> BigInt,
        time_created -> Timestamptz,
        time_modified -> Timestamptz,
    }
}

diesel::table! {
    vpc (id) {
        id -> Uuid,
        project_id -> Uuid,
        name -> Text,
        description -> Text,
        dns_name -> Text,
        ipv6_prefix -> Inet,
        vni -> Integer,
        system_router_id -> Uuid,
        time_created -> Timestamptz,
        time_modified -> Timestamptz,
        time_deleted -> Nullable<Timestamptz>,
    }
}

diesel::table! {
    vpc_subnet (id) {
        id -> Uuid,
        vpc_id -> Uuid,
        name -> Text,
        description -> Text,
        ipv4_block -> Inet,
        ipv6_block -> Inet,
        custom_router_id -> Nullable<Uuid>,
        time_created -> Timestamptz,
        time_modified -> Timestamptz,
        time_deleted -> Nullable<Timestamptz>,
    }
}

diesel::table! {
    vpc_firewall (vpc_id) {
        vpc_id -> Uuid,
        generation -> Int8,
        rules -> Jsonb,
    }
}

diesel::table! {
    audit_log (id) {
        id -> Uuid,
        time_started -> Timestamptz,
        request_id -> Text,
        request_uri -> Text,
        operation_id -> Text,
        source_ip -> Inet,
        user_agent -> Nullable<Text>,
        silo_id -> Nullable<Uuid>,
        silo_user_id -> Nullable<Uuid>,
        auth_method -> Nullable<Text>,
        credential_id -> Nullable<Uuid>,
        time_completed -> Nullable<Timestamptz>,
        http_status_code -> Nullable<Int4>,
        error_code -> Nullable<Text>,
        error_message -> Nullable<Text>,
    }
}

diesel::table! {
    instance (id) {
        id -> Uuid,
        project_id -> Uuid,
        silo_id -> Uuid,
        name -> Text,
        description -> Text,
        hostname -> Text,
        ncpus -> Integer,
        memory -> BigInt,
        user_data -> Binary,
        boot_disk_id -> Nullable<Uuid>,
        auto_restart_policy -> Nullable<Text>,
        cpu_platform -> Nullable<Text>,
        state -> Text,
        time_state_updated -> Timestamptz,
        saga_id -> Nullable<Uuid>,
        active_vmm_id -> Nullable<Uuid>,
        target_vmm_id -> Nullable<Uuid>,
        migration_id -> Nullable<Uuid>,
        time_created -> Timestamptz,
        time_modified -> Timestamptz,
        time_deleted -> Nullable<Timestamptz>,
    }
}

diesel::table! {
    network_interface (id) {
        id -> Uuid,
        instance_id -> Uuid,
        vpc_id -> Uuid,
        subnet_id -> Uuid,
        name -> Text,
        description -> Text,
        mac -> BigInt,
        ipv4 -> Nullable<Inet>,
        ipv6 -> Nullable<Inet>,
        transit_ips_v4 -> Jsonb,
        transit_ips_v6 -> Jsonb,
        slot -> SmallInt,
        is_primary -> Bool,
        time_created -> Timestamptz,
        time_modified -> Timestamptz,
        time_deleted -> Nullable<Timestamptz>,
    }
}

diesel::table! {
    ip_pool (id) {
        id -> Uuid,
        name -> Text,
        description -> Text,
        ip_version -> Text,
        pool_type -> Text,
        assignment -> Text,
        time_created -> Timestamptz,
        time_modified -> Timestamptz,
        time_deleted -> Nullable<Timestamptz>,
    }
}

diesel::table! {
    ip_pool_range (id) {
        id -> Uuid,
        ip_pool_id -> Uuid,
        first_address -> Inet,
        last_address -> Inet,
        next_address -> Nullable<Inet>,
        time_created -> Timestamptz,
        time_deleted -> Nullable<Timestamptz>,
    }
}

diesel::table! {
    ip_pool_free_address (ip_pool_id, ip) {
        ip_pool_id -> Uuid,
        ip -> Inet,
        ip_pool_range_id -> Uuid,
    }
}

diesel::table! {
    ip_pool_snat_address (ip_pool_id, ip) {
        ip_pool_id -> Uuid,
        ip -> Inet,
        ip_pool_range_id -> Uuid,
        used_blocks -> SmallInt,
    }
}

diesel::table! {
    ip_pool_silo (silo_id, ip_pool_id) {
        ip_pool_id -> Uuid,
        silo_id -> Uuid,
        ip_version -> Text,
        pool_type -> Text,
        is_default -> Bool,
    }
}

diesel::table! {
    external_ip (id) {
        id -> Uuid,
        kind -> Text,
        silo_id -> Uuid,
        project_id -> Uuid,
        name -> Nullable<Text>,
        description -> Nullable<Text>,
        ip -> Inet,
        ip_version -> Text,
        first_port -> Integer,
        last_port -> Integer,
        ip_pool_id -> Uuid,
        ip_pool_range_id -> Uuid,
        state -> Text,
        instance_id -> Nullable<Uuid>,
        saga_id -> Nullable<Uuid>,
        time_created -> Timestamptz,
        time_modified -> Timestamptz,
        time_deleted -> Nullable<Timestamptz>,
    }
}

diesel::table! {
    sled (id) {
        id -> Uuid,
        underlay_address -> Inet,
        port -> Integer,
        repo_depot_port -> Integer,
        role -> Text,
        serial_number -> Text,
        part_number -> Text,
        revision -> BigInt,
        usable_hardware_threads -> BigInt,
        usable_physical_ram -> BigInt,
        reservoir_size -> BigInt,
        cpu_family -> Text,
        provision_policy -> Text,
        generation -> BigInt,
        time_created -> Timestamptz,
        time_modified -> Timestamptz,
    }
}

diesel::table! {
    vmm (id) {
        id -> Uuid,
        instance_id -> Uuid,
        sled_id -> Uuid,
        ncpus -> Integer,
        memory -> BigInt,
        state -> Text,
        generation -> BigInt,
        saga_id -> Uuid,
        time_created -> Timestamptz,
        time_state_updated -> Timestamptz,
        time_deleted -> Nullable<Timestamptz>,
    }
}

diesel::table! {
    migration (id) {
        id -> Uuid,
        instance_id -> Uuid,
        source_vmm_id -> Uuid,
        source_state -> Text,
        source_generation -> BigInt,
        target_vmm_id -> Uuid,
        target_state -> Text,
        target_generation -> BigInt,
        time_created -> Timestamptz,
        time_deleted -> Nullable<Timestamptz>,
    }
}

diesel::table! {
    nat_generation (id) {
        id -> Integer,
        generation -> BigInt,
    }
}

diesel::table! {
    nat_entry (id) {
        id -> Uuid,
        external_ip_id -> Uuid,
        instance_id -> Uuid,
        external_address -> Inet,
        first_port -> Integer,
        last_port -> Integer,
        sled_address -> Inet,
        vni -> Integer,
        mac -> BigInt,
        generation -> BigInt,
        time_created -> Timestamptz,
        time_deleted -> Nullable<Timestamptz>,
    }
}

diesel::table! {
    nat_switch (slot) {
        slot -> Text,
        generation -> BigInt,
        time_modified -> Timestamptz,
    }
}

diesel::table! {
    port_address (vmm_id, address) {
        vmm_id -> Uuid,
        address -> Inet,
        kind -> Text,
        time_changed -> Timestamptz,
        time_due -> Nullable<Timestamptz>,
    }
}

diesel::table! {
    sec (id) {
        id -> Uuid,
        nexus_id -> Uuid,
        time_created -> Timestamptz,
        time_lease_expires -> Timestamptz,
    }
}

diesel::table! {
    saga (id) {
        id -> Uuid,
        name -> Text,
        dag -> Jsonb,
        state -> Text,
        creator -> Uuid,
        owner -> Uuid,
        adopt_generation -> BigInt,
        time_created -> Timestamptz,
        time_adopted -> Timestamptz,
        time_done -> Nullable<Timestamptz>,
    }
}

diesel::table! {
    saga_node_event (saga_id, node_id, kind) {
        saga_id -> Uuid,
        node_id -> BigInt,
        kind -> Text,
        event -> Jsonb,
        sec_id -> Uuid,
        time_created -> Timestamptz,
    }
}

diesel::allow_tables_to_appear_in_same_query!(
    silo,
    silo_group,
    silo_group_membership,
    user_builtin,
    console_session,
    device_auth_request,
    silo_user,
    role_assignment,
    device_access_token,
    project,
    disk,
    snapshot,
    image,
    ssh_key,
    instance_ssh_key,
    silo_quotas,
    vpc,
    vpc_subnet,
    vpc_firewall,
    audit_log,
    instance,
    network_interface,
    ip_pool,
    ip_pool_range,
    ip_pool_free_address,
    ip_pool_snat_address,
    ip_pool_silo,
    external_ip,
    sled,
    vmm,
    migration,
    nat_generation,
    nat_entry,
    nat_switch,
    port_address,
    sec,
    saga,
    saga_node_event,
);
