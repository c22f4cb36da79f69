-- What disks are made from, SSH keys, quotas, and whether sleds take new instances.

ALTER TABLE disk ADD COLUMN image_id UUID;
ALTER TABLE disk ADD COLUMN snapshot_id UUID;
ALTER TABLE disk ADD COLUMN read_only BOOL NOT NULL DEFAULT false;
-- The engines give a check without a name different ones.
ALTER TABLE disk DROP CONSTRAINT IF EXISTS disk_state_check;
ALTER TABLE disk DROP CONSTRAINT IF EXISTS check_state;
ALTER TABLE disk ADD CONSTRAINT disk_states
    CHECK (state IN ('detached', 'attached', 'import_ready', 'importing_from_bulk_writes'));

CREATE TABLE snapshot (
    id UUID PRIMARY KEY,
    project_id UUID NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    disk_id UUID NOT NULL,
    size INT8 NOT NULL,
    block_size INT4 NOT NULL,
    time_created TIMESTAMPTZ NOT NULL,
    time_modified TIMESTAMPTZ NOT NULL,
    time_deleted TIMESTAMPTZ
);
CREATE UNIQUE INDEX snapshot_name ON snapshot (project_id, name) WHERE time_deleted IS NULL;
CREATE INDEX snapshot_id_page ON snapshot (project_id, id) WHERE time_deleted IS NULL;

-- An image belongs to a project, or, with no project_id, to the silo as a whole.
CREATE TABLE image (
    id UUID PRIMARY KEY,
    silo_id UUID NOT NULL,
    project_id UUID,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    os TEXT NOT NULL,
    version TEXT NOT NULL,
    size INT8 NOT NULL,
    block_size INT4 NOT NULL,
    time_created TIMESTAMPTZ NOT NULL,
    time_modified TIMESTAMPTZ NOT NULL,
    time_deleted TIMESTAMPTZ
);
CREATE UNIQUE INDEX image_project_name ON image (project_id, name)
    WHERE time_deleted IS NULL AND project_id IS NOT NULL;
CREATE INDEX image_project_id_page ON image (project_id, id)
    WHERE time_deleted IS NULL AND project_id IS NOT NULL;
CREATE UNIQUE INDEX image_silo_name ON image (silo_id, name)
    WHERE time_deleted IS NULL AND project_id IS NULL;
CREATE INDEX image_silo_id_page ON image (silo_id, id)
    WHERE time_deleted IS NULL AND project_id IS NULL;

CREATE TABLE ssh_key (
    id UUID PRIMARY KEY,
    silo_user_id UUID NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    public_key TEXT NOT NULL,
    time_created TIMESTAMPTZ NOT NULL,
    time_modified TIMESTAMPTZ NOT NULL,
    time_deleted TIMESTAMPTZ
);
CREATE UNIQUE INDEX ssh_key_name ON ssh_key (silo_user_id, name) WHERE time_deleted IS NULL;
CREATE INDEX ssh_key_id_page ON ssh_key (silo_user_id, id) WHERE time_deleted IS NULL;

CREATE TABLE instance_ssh_key (
    instance_id UUID NOT NULL,
    ssh_key_id UUID NOT NULL,
    PRIMARY KEY (instance_id, ssh_key_id)
);

-- A silo without a row has no limits.
CREATE TABLE silo_quotas (
    silo_id UUID PRIMARY KEY,
    cpus INT8 NOT NULL CHECK (cpus >= 0),
    memory INT8 NOT NULL CHECK (memory >= 0),
    storage INT8 NOT NULL CHECK (storage >= 0),
    time_created TIMESTAMPTZ NOT NULL,
    time_modified TIMESTAMPTZ NOT NULL
);
-- What counts against them.
CREATE INDEX instance_provisioned ON instance (silo_id, state)
    WHERE time_deleted IS NULL;

ALTER TABLE sled ADD COLUMN provision_policy TEXT NOT NULL DEFAULT 'provisionable'
    CHECK (provision_policy IN ('provisionable', 'non_provisionable'));
