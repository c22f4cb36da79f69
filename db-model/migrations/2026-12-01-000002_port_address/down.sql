DROP TABLE port_address;
