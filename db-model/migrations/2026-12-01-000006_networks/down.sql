DROP INDEX network_interface_vpc;
DROP INDEX network_interface_subnet_id;
DROP INDEX network_interface_subnet_name;
DROP TABLE vpc_firewall;
