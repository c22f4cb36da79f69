-- Networks that their owners change: the firewall rules of VPCs, and listings of a subnet's
-- interfaces.

-- The rules of a VPC as they were last set. A VPC that has no row has the rules of a new one.
CREATE TABLE vpc_firewall (
    vpc_id UUID PRIMARY KEY,
    -- Counts the changes, so that what was read before one is told from what was read after.
    generation INT8 NOT NULL,
    -- An array of rules.
    rules JSONB NOT NULL
);

CREATE INDEX network_interface_subnet_name ON network_interface (subnet_id, name, id)
    WHERE time_deleted IS NULL;
CREATE INDEX network_interface_subnet_id ON network_interface (subnet_id, id)
    WHERE time_deleted IS NULL;
CREATE INDEX network_interface_vpc ON network_interface (vpc_id, id) WHERE time_deleted IS NULL;
