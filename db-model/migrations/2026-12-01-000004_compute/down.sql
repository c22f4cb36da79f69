ALTER TABLE sled DROP COLUMN provision_policy;
DROP INDEX instance_provisioned;
DROP TABLE silo_quotas;
DROP TABLE instance_ssh_key;
DROP TABLE ssh_key;
DROP TABLE image;
DROP TABLE snapshot;
-- A disk that waits for its content is a blank one to the schema before.
UPDATE disk SET state = 'detached'
    WHERE state IN ('import_ready', 'importing_from_bulk_writes');
ALTER TABLE disk DROP CONSTRAINT disk_states;
ALTER TABLE disk ADD CONSTRAINT disk_state_check CHECK (state IN ('detached', 'attached'));
ALTER TABLE disk DROP COLUMN read_only;
ALTER TABLE disk DROP COLUMN snapshot_id;
ALTER TABLE disk DROP COLUMN image_id;
