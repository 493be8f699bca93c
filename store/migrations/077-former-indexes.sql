-- Others have taken their places. Not in the transactions that made those: a table cannot be read while one of its indexes is dropped, and a
-- writer that had read it and waited for the new index would wait for the drop, and the drop for the writer.
drop index purchases_by_product;
drop index experiment_assignments_by_group;
drop index configuration_pins_by_config;
