-- External addresses that a VMM's port may hold: written before a sled is told to add one, and
-- kept for a while after it was told to remove it. A sled cannot be asked what its ports hold, so
-- this is what the intent is compared with. Rows go with their VMM.
CREATE TABLE port_address (
    vmm_id UUID NOT NULL,
    address INET NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('ephemeral', 'floating')),
    -- When the address was last about to come or go.
    time_changed TIMESTAMPTZ NOT NULL,
    -- When the port is to be gone over again on account of that; null once it has settled.
    time_due TIMESTAMPTZ,
    PRIMARY KEY (vmm_id, address)
);
CREATE INDEX port_address_due ON port_address (time_due, vmm_id) WHERE time_due IS NOT NULL;

INSERT INTO port_address (vmm_id, address, kind, time_changed, time_due)
    SELECT instance.active_vmm_id, external_ip.ip, external_ip.kind, now(), now()
    FROM external_ip
    JOIN instance ON instance.id = external_ip.instance_id
    WHERE external_ip.time_deleted IS NULL
        AND external_ip.kind <> 'snat'
        AND instance.active_vmm_id IS NOT NULL;
