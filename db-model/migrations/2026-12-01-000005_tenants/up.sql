-- Tenants: what a silo is like, its groups, how its users log in, and how programs get tokens.

ALTER TABLE silo ADD COLUMN discoverable BOOL NOT NULL DEFAULT true;
ALTER TABLE silo ADD COLUMN admin_group_name TEXT;
-- For each role in the silo, the roles in the fleet that come with it.
ALTER TABLE silo ADD COLUMN mapped_fleet_roles JSONB NOT NULL DEFAULT '{}';
-- The longest that a token of the silo's users may live; without one, tokens may live for ever.
ALTER TABLE silo ADD COLUMN device_token_max_ttl_seconds INT8;

CREATE INDEX silo_user_id_page ON silo_user (silo_id, id) WHERE time_deleted IS NULL;

CREATE TABLE silo_group (
    id UUID PRIMARY KEY,
    silo_id UUID NOT NULL,
    external_id TEXT NOT NULL,
    time_created TIMESTAMPTZ NOT NULL,
    time_modified TIMESTAMPTZ NOT NULL,
    time_deleted TIMESTAMPTZ
);
CREATE UNIQUE INDEX silo_group_external_id ON silo_group (silo_id, external_id)
    WHERE time_deleted IS NULL;
CREATE INDEX silo_group_id_page ON silo_group (silo_id, id) WHERE time_deleted IS NULL;

CREATE TABLE silo_group_membership (
    silo_group_id UUID NOT NULL,
    silo_user_id UUID NOT NULL,
    PRIMARY KEY (silo_group_id, silo_user_id)
);
CREATE INDEX silo_group_membership_user ON silo_group_membership (silo_user_id, silo_group_id);

-- The system itself, where it acts as somebody.
CREATE TABLE user_builtin (
    id UUID PRIMARY KEY,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    time_created TIMESTAMPTZ NOT NULL,
    time_modified TIMESTAMPTZ NOT NULL
);
CREATE UNIQUE INDEX user_builtin_name ON user_builtin (name);
INSERT INTO user_builtin (id, name, description, time_created, time_modified) VALUES
    ('001de000-05e4-4000-8000-000000000002', 'internal-api',
        'what sleds and switches report is recorded as this user', now(), now()),
    ('001de000-05e4-4000-8000-000000000003', 'external-authn',
        'credentials are looked up as this user', now(), now()),
    ('001de000-05e4-4000-8000-00000000000b', 'saga-recovery',
        'operations that outlived their request are finished as this user', now(), now());

-- Credentials are random and long, so a plain SHA-256 of one is as good as a slow hash.
CREATE TABLE console_session (
    id UUID PRIMARY KEY,
    silo_user_id UUID NOT NULL,
    token_hash BYTEA NOT NULL,
    time_created TIMESTAMPTZ NOT NULL,
    time_last_used TIMESTAMPTZ NOT NULL
);
CREATE UNIQUE INDEX console_session_hash ON console_session (token_hash);
CREATE INDEX console_session_user ON console_session (silo_user_id, id);
CREATE INDEX console_session_last_used ON console_session (time_last_used);
CREATE INDEX console_session_created ON console_session (time_created);

CREATE INDEX device_access_token_expires ON device_access_token (time_expires)
    WHERE time_expires IS NOT NULL;

-- A program that waits for a person to let it in. silo_user_id is that person's, once it has.
CREATE TABLE device_auth_request (
    user_code TEXT PRIMARY KEY,
    device_code_hash BYTEA NOT NULL,
    client_id UUID NOT NULL,
    token_ttl_seconds INT8,
    time_created TIMESTAMPTZ NOT NULL,
    time_expires TIMESTAMPTZ NOT NULL,
    silo_user_id UUID,
    token_time_expires TIMESTAMPTZ
);
CREATE UNIQUE INDEX device_auth_request_code ON device_auth_request (device_code_hash);
CREATE INDEX device_auth_request_expires ON device_auth_request (time_expires);
CREATE INDEX device_auth_request_user ON device_auth_request (silo_user_id)
    WHERE silo_user_id IS NOT NULL;
