-- The first schema. Both engines, PostgreSQL and CockroachDB, take every statement here as it is:
-- no foreign keys (the transaction that needs one checks it), no sequences, no triggers; states
-- are text with a check. Rows that users see are deleted by setting time_deleted, and their names
-- are unique among the rows that live.

-- Who uses the rack -------------------------------------------------------------------------

CREATE TABLE silo (
    id UUID PRIMARY KEY,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    time_created TIMESTAMPTZ NOT NULL,
    time_modified TIMESTAMPTZ NOT NULL,
    time_deleted TIMESTAMPTZ
);
CREATE UNIQUE INDEX silo_name ON silo (name) WHERE time_deleted IS NULL;

CREATE TABLE silo_user (
    id UUID PRIMARY KEY,
    silo_id UUID NOT NULL,
    external_id TEXT NOT NULL,
    password_hash TEXT,
    time_created TIMESTAMPTZ NOT NULL,
    time_modified TIMESTAMPTZ NOT NULL,
    time_deleted TIMESTAMPTZ
);
CREATE UNIQUE INDEX silo_user_external_id ON silo_user (silo_id, external_id)
    WHERE time_deleted IS NULL;

CREATE TABLE role_assignment (
    resource_type TEXT NOT NULL CHECK (resource_type IN ('fleet', 'silo', 'project')),
    resource_id UUID NOT NULL,
    role_name TEXT NOT NULL
        CHECK (role_name IN ('admin', 'collaborator', 'limited_collaborator', 'viewer')),
    identity_type TEXT NOT NULL CHECK (identity_type IN ('silo_user', 'silo_group')),
    identity_id UUID NOT NULL,
    PRIMARY KEY (identity_id, resource_type, resource_id, role_name, identity_type)
);
CREATE INDEX role_assignment_resource ON role_assignment (resource_type, resource_id);

-- Tokens are random and long, so a plain SHA-256 of one is as good as a slow hash.
CREATE TABLE device_access_token (
    id UUID PRIMARY KEY,
    silo_user_id UUID NOT NULL,
    token_hash BYTEA NOT NULL,
    time_created TIMESTAMPTZ NOT NULL,
    time_expires TIMESTAMPTZ
);
CREATE UNIQUE INDEX device_access_token_hash ON device_access_token (token_hash);
CREATE INDEX device_access_token_user ON device_access_token (silo_user_id, id);

-- What they own -----------------------------------------------------------------------------

CREATE TABLE project (
    id UUID PRIMARY KEY,
    silo_id UUID NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    time_created TIMESTAMPTZ NOT NULL,
    time_modified TIMESTAMPTZ NOT NULL,
    time_deleted TIMESTAMPTZ
);
CREATE UNIQUE INDEX project_name ON project (silo_id, name) WHERE time_deleted IS NULL;
CREATE INDEX project_id_page ON project (silo_id, id) WHERE time_deleted IS NULL;

CREATE TABLE disk (
    id UUID PRIMARY KEY,
    project_id UUID NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    size INT8 NOT NULL,
    block_size INT4 NOT NULL,
    disk_type TEXT NOT NULL CHECK (disk_type IN ('distributed', 'local')),
    state TEXT NOT NULL CHECK (state IN ('detached', 'attached')),
    instance_id UUID,
    slot INT2,
    time_created TIMESTAMPTZ NOT NULL,
    time_modified TIMESTAMPTZ NOT NULL,
    time_deleted TIMESTAMPTZ,
    CHECK ((state = 'attached') = (instance_id IS NOT NULL))
);
CREATE UNIQUE INDEX disk_name ON disk (project_id, name) WHERE time_deleted IS NULL;
CREATE INDEX disk_id_page ON disk (project_id, id) WHERE time_deleted IS NULL;
CREATE INDEX disk_instance ON disk (instance_id, slot)
    WHERE time_deleted IS NULL AND instance_id IS NOT NULL;

CREATE TABLE vpc (
    id UUID PRIMARY KEY,
    project_id UUID NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    dns_name TEXT NOT NULL,
    ipv6_prefix INET NOT NULL,
    vni INT4 NOT NULL,
    system_router_id UUID NOT NULL,
    time_created TIMESTAMPTZ NOT NULL,
    time_modified TIMESTAMPTZ NOT NULL,
    time_deleted TIMESTAMPTZ
);
CREATE UNIQUE INDEX vpc_name ON vpc (project_id, name) WHERE time_deleted IS NULL;
CREATE INDEX vpc_id_page ON vpc (project_id, id) WHERE time_deleted IS NULL;
CREATE UNIQUE INDEX vpc_vni ON vpc (vni) WHERE time_deleted IS NULL;

CREATE TABLE vpc_subnet (
    id UUID PRIMARY KEY,
    vpc_id UUID NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    ipv4_block INET NOT NULL,
    ipv6_block INET NOT NULL,
    custom_router_id UUID,
    time_created TIMESTAMPTZ NOT NULL,
    time_modified TIMESTAMPTZ NOT NULL,
    time_deleted TIMESTAMPTZ
);
CREATE UNIQUE INDEX vpc_subnet_name ON vpc_subnet (vpc_id, name) WHERE time_deleted IS NULL;
CREATE INDEX vpc_subnet_id_page ON vpc_subnet (vpc_id, id) WHERE time_deleted IS NULL;

-- state is the control plane's own: whether the instance is being made, has no VMM, has one, has
-- failed, or is gone. What users see follows from it and from the active VMM's row.
CREATE TABLE instance (
    id UUID PRIMARY KEY,
    project_id UUID NOT NULL,
    silo_id UUID NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    hostname TEXT NOT NULL,
    ncpus INT4 NOT NULL,
    memory INT8 NOT NULL,
    user_data BYTEA NOT NULL,
    boot_disk_id UUID,
    auto_restart_policy TEXT,
    cpu_platform TEXT,
    state TEXT NOT NULL
        CHECK (state IN ('creating', 'no_vmm', 'vmm', 'failed', 'destroyed')),
    time_state_updated TIMESTAMPTZ NOT NULL,
    -- The saga that may take the instance out of 'creating', or that made its present VMM.
    saga_id UUID,
    active_vmm_id UUID,
    target_vmm_id UUID,
    migration_id UUID,
    time_created TIMESTAMPTZ NOT NULL,
    time_modified TIMESTAMPTZ NOT NULL,
    time_deleted TIMESTAMPTZ,
    CHECK ((state = 'vmm') = (active_vmm_id IS NOT NULL)),
    CHECK ((migration_id IS NULL) = (target_vmm_id IS NULL))
);
CREATE UNIQUE INDEX instance_name ON instance (project_id, name) WHERE time_deleted IS NULL;
CREATE INDEX instance_id_page ON instance (project_id, id) WHERE time_deleted IS NULL;

CREATE TABLE network_interface (
    id UUID PRIMARY KEY,
    instance_id UUID NOT NULL,
    vpc_id UUID NOT NULL,
    subnet_id UUID NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    mac INT8 NOT NULL,
    ipv4 INET,
    ipv6 INET,
    transit_ips_v4 JSONB NOT NULL,
    transit_ips_v6 JSONB NOT NULL,
    slot INT2 NOT NULL,
    is_primary BOOL NOT NULL,
    time_created TIMESTAMPTZ NOT NULL,
    time_modified TIMESTAMPTZ NOT NULL,
    time_deleted TIMESTAMPTZ,
    CHECK (ipv4 IS NOT NULL OR ipv6 IS NOT NULL)
);
CREATE UNIQUE INDEX network_interface_name ON network_interface (instance_id, name)
    WHERE time_deleted IS NULL;
CREATE INDEX network_interface_id_page ON network_interface (instance_id, id)
    WHERE time_deleted IS NULL;
CREATE UNIQUE INDEX network_interface_slot ON network_interface (instance_id, slot)
    WHERE time_deleted IS NULL;
CREATE UNIQUE INDEX network_interface_primary ON network_interface (instance_id)
    WHERE time_deleted IS NULL AND is_primary;
CREATE UNIQUE INDEX network_interface_ipv4 ON network_interface (subnet_id, ipv4)
    WHERE time_deleted IS NULL AND ipv4 IS NOT NULL;
CREATE UNIQUE INDEX network_interface_ipv6 ON network_interface (subnet_id, ipv6)
    WHERE time_deleted IS NULL AND ipv6 IS NOT NULL;
CREATE UNIQUE INDEX network_interface_mac ON network_interface (vpc_id, mac)
    WHERE time_deleted IS NULL;

-- External addresses ------------------------------------------------------------------------

CREATE TABLE ip_pool (
    id UUID PRIMARY KEY,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    ip_version TEXT NOT NULL CHECK (ip_version IN ('v4', 'v6')),
    pool_type TEXT NOT NULL CHECK (pool_type IN ('unicast', 'multicast')),
    assignment TEXT NOT NULL CHECK (assignment IN ('silos', 'system_services')),
    time_created TIMESTAMPTZ NOT NULL,
    time_modified TIMESTAMPTZ NOT NULL,
    time_deleted TIMESTAMPTZ
);
CREATE UNIQUE INDEX ip_pool_name ON ip_pool (name) WHERE time_deleted IS NULL;

-- next_address is the range's mark: no address at or above it was ever handed out automatically,
-- and it is itself free. NULL when the range is used up to its end. The addresses below it are in
-- use, or stand in ip_pool_free_address.
CREATE TABLE ip_pool_range (
    id UUID PRIMARY KEY,
    ip_pool_id UUID NOT NULL,
    first_address INET NOT NULL,
    last_address INET NOT NULL,
    next_address INET,
    time_created TIMESTAMPTZ NOT NULL,
    time_deleted TIMESTAMPTZ
);
CREATE UNIQUE INDEX ip_pool_range_first ON ip_pool_range (first_address)
    WHERE time_deleted IS NULL;
CREATE INDEX ip_pool_range_pool ON ip_pool_range (ip_pool_id, first_address)
    WHERE time_deleted IS NULL;
CREATE INDEX ip_pool_range_mark ON ip_pool_range (ip_pool_id, next_address)
    WHERE time_deleted IS NULL AND next_address IS NOT NULL;

-- Addresses below their range's mark that were released.
CREATE TABLE ip_pool_free_address (
    ip_pool_id UUID NOT NULL,
    ip INET NOT NULL,
    ip_pool_range_id UUID NOT NULL,
    PRIMARY KEY (ip_pool_id, ip)
);
CREATE INDEX ip_pool_free_address_range ON ip_pool_free_address (ip_pool_range_id, ip);

-- Addresses that are shared by source NAT; used_blocks has a bit for each block in use. A row
-- goes with its last block.
CREATE TABLE ip_pool_snat_address (
    ip_pool_id UUID NOT NULL,
    ip INET NOT NULL,
    ip_pool_range_id UUID NOT NULL,
    used_blocks INT2 NOT NULL CHECK (used_blocks BETWEEN 1 AND 15),
    PRIMARY KEY (ip_pool_id, ip)
);
CREATE INDEX ip_pool_snat_address_partial ON ip_pool_snat_address (ip_pool_id, ip)
    WHERE used_blocks < 15;

-- ip_version and pool_type are the pool's (they never change), so that an index can hold a silo
-- to one default of each kind.
CREATE TABLE ip_pool_silo (
    ip_pool_id UUID NOT NULL,
    silo_id UUID NOT NULL,
    ip_version TEXT NOT NULL,
    pool_type TEXT NOT NULL,
    is_default BOOL NOT NULL,
    PRIMARY KEY (silo_id, ip_pool_id)
);
CREATE INDEX ip_pool_silo_pool ON ip_pool_silo (ip_pool_id, silo_id);
CREATE UNIQUE INDEX ip_pool_silo_default ON ip_pool_silo (silo_id, pool_type, ip_version)
    WHERE is_default;

-- saga_id names the saga that may take the address out of 'attaching' or 'detaching'.
CREATE TABLE external_ip (
    id UUID PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('snat', 'ephemeral', 'floating')),
    silo_id UUID NOT NULL,
    project_id UUID NOT NULL,
    name TEXT,
    description TEXT,
    ip INET NOT NULL,
    ip_version TEXT NOT NULL CHECK (ip_version IN ('v4', 'v6')),
    first_port INT4 NOT NULL,
    last_port INT4 NOT NULL,
    ip_pool_id UUID NOT NULL,
    ip_pool_range_id UUID NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('detached', 'attaching', 'attached', 'detaching')),
    instance_id UUID,
    saga_id UUID,
    time_created TIMESTAMPTZ NOT NULL,
    time_modified TIMESTAMPTZ NOT NULL,
    time_deleted TIMESTAMPTZ,
    CHECK (time_deleted IS NOT NULL OR (state = 'detached') = (instance_id IS NULL)),
    CHECK ((kind = 'floating') = (name IS NOT NULL)),
    CHECK ((state IN ('attaching', 'detaching')) = (saga_id IS NOT NULL))
);
CREATE UNIQUE INDEX external_ip_address ON external_ip (ip, first_port)
    WHERE time_deleted IS NULL;
CREATE UNIQUE INDEX external_ip_name ON external_ip (project_id, name)
    WHERE time_deleted IS NULL AND kind = 'floating';
CREATE INDEX external_ip_id_page ON external_ip (project_id, id)
    WHERE time_deleted IS NULL AND kind = 'floating';
CREATE UNIQUE INDEX external_ip_ephemeral ON external_ip (instance_id, ip_version)
    WHERE time_deleted IS NULL AND kind = 'ephemeral' AND instance_id IS NOT NULL;
CREATE INDEX external_ip_instance ON external_ip (instance_id, id)
    WHERE time_deleted IS NULL AND instance_id IS NOT NULL;
CREATE INDEX external_ip_range ON external_ip (ip_pool_range_id, ip)
    WHERE time_deleted IS NULL;
CREATE INDEX external_ip_pool_silo ON external_ip (ip_pool_id, silo_id, kind)
    WHERE time_deleted IS NULL;
CREATE INDEX external_ip_saga ON external_ip (saga_id) WHERE saga_id IS NOT NULL;

-- Where instances run -----------------------------------------------------------------------

CREATE TABLE sled (
    id UUID PRIMARY KEY,
    underlay_address INET NOT NULL,
    port INT4 NOT NULL,
    repo_depot_port INT4 NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('gimlet', 'scrimlet')),
    serial_number TEXT NOT NULL,
    part_number TEXT NOT NULL,
    revision INT8 NOT NULL,
    usable_hardware_threads INT8 NOT NULL,
    usable_physical_ram INT8 NOT NULL,
    reservoir_size INT8 NOT NULL,
    cpu_family TEXT NOT NULL,
    generation INT8 NOT NULL,
    time_created TIMESTAMPTZ NOT NULL,
    time_modified TIMESTAMPTZ NOT NULL
);

-- A VMM runs one instance on one sled; it counts against the sled until it is deleted.
CREATE TABLE vmm (
    id UUID PRIMARY KEY,
    instance_id UUID NOT NULL,
    sled_id UUID NOT NULL,
    ncpus INT4 NOT NULL,
    memory INT8 NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('creating', 'starting', 'running', 'stopping',
        'stopped', 'rebooting', 'migrating', 'failed', 'destroyed')),
    generation INT8 NOT NULL,
    saga_id UUID NOT NULL,
    time_created TIMESTAMPTZ NOT NULL,
    time_state_updated TIMESTAMPTZ NOT NULL,
    time_deleted TIMESTAMPTZ
);
CREATE INDEX vmm_sled ON vmm (sled_id, id) WHERE time_deleted IS NULL;
CREATE INDEX vmm_instance ON vmm (instance_id) WHERE time_deleted IS NULL;
CREATE INDEX vmm_live ON vmm (id) WHERE time_deleted IS NULL;

CREATE TABLE migration (
    id UUID PRIMARY KEY,
    instance_id UUID NOT NULL,
    source_vmm_id UUID NOT NULL,
    source_state TEXT NOT NULL
        CHECK (source_state IN ('pending', 'in_progress', 'failed', 'completed')),
    source_generation INT8 NOT NULL,
    target_vmm_id UUID NOT NULL,
    target_state TEXT NOT NULL
        CHECK (target_state IN ('pending', 'in_progress', 'failed', 'completed')),
    target_generation INT8 NOT NULL,
    time_created TIMESTAMPTZ NOT NULL,
    time_deleted TIMESTAMPTZ
);

-- What the switches should hold -------------------------------------------------------------

-- One row. Taking the next generation and writing the entry that bears it are one transaction,
-- so generations become visible in their own order.
CREATE TABLE nat_generation (
    id INT4 PRIMARY KEY CHECK (id = 1),
    generation INT8 NOT NULL
);
INSERT INTO nat_generation (id, generation) VALUES (1, 0);

-- generation is that of the entry's last change: its addition, or its removal.
CREATE TABLE nat_entry (
    id UUID PRIMARY KEY,
    external_ip_id UUID NOT NULL,
    instance_id UUID NOT NULL,
    external_address INET NOT NULL,
    first_port INT4 NOT NULL,
    last_port INT4 NOT NULL,
    sled_address INET NOT NULL,
    vni INT4 NOT NULL,
    mac INT8 NOT NULL,
    generation INT8 NOT NULL,
    time_created TIMESTAMPTZ NOT NULL,
    time_deleted TIMESTAMPTZ
);
CREATE UNIQUE INDEX nat_entry_address ON nat_entry (external_address, first_port)
    WHERE time_deleted IS NULL;
CREATE UNIQUE INDEX nat_entry_generation ON nat_entry (generation);
CREATE INDEX nat_entry_instance ON nat_entry (instance_id) WHERE time_deleted IS NULL;
CREATE INDEX nat_entry_external_ip ON nat_entry (external_ip_id) WHERE time_deleted IS NULL;
CREATE INDEX nat_entry_any_address ON nat_entry (external_address);
CREATE INDEX nat_entry_removed ON nat_entry (generation) WHERE time_deleted IS NOT NULL;

-- The generation up to which each switch is known to agree with the intent.
CREATE TABLE nat_switch (
    slot TEXT PRIMARY KEY,
    generation INT8 NOT NULL,
    time_modified TIMESTAMPTZ NOT NULL
);

-- Sagas -------------------------------------------------------------------------------------

-- A saga execution coordinator: one life of one Nexus process. It owns sagas for as long as its
-- lease lasts.
CREATE TABLE sec (
    id UUID PRIMARY KEY,
    nexus_id UUID NOT NULL,
    time_created TIMESTAMPTZ NOT NULL,
    time_lease_expires TIMESTAMPTZ NOT NULL
);
CREATE INDEX sec_nexus ON sec (nexus_id);

CREATE TABLE saga (
    id UUID PRIMARY KEY,
    name TEXT NOT NULL,
    dag JSONB NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('running', 'unwinding', 'done')),
    creator UUID NOT NULL,
    owner UUID NOT NULL,
    adopt_generation INT8 NOT NULL,
    time_created TIMESTAMPTZ NOT NULL,
    time_adopted TIMESTAMPTZ NOT NULL,
    time_done TIMESTAMPTZ
);
CREATE INDEX saga_unfinished ON saga (owner, id) WHERE state <> 'done';
CREATE INDEX saga_finished ON saga (time_done) WHERE state = 'done';

CREATE TABLE saga_node_event (
    saga_id UUID NOT NULL,
    node_id INT8 NOT NULL,
    kind TEXT NOT NULL,
    event JSONB NOT NULL,
    sec_id UUID NOT NULL,
    time_created TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (saga_id, node_id, kind)
);
