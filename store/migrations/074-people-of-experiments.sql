-- People of a group and people pinned to a configuration are listed newest first. In the place of indexes without the order.
create index experiment_assignments_by_group_and_time on experiment_assignments (environment, group_id, assigned_at, user_id);
create index configuration_pins_by_config_and_time on configuration_pins (environment, config_id, pinned_at, user_id);

-- Pins are rare among assignments.
create index experiment_assignments_pinned on experiment_assignments (environment, group_id, assigned_at, user_id) where pinned;
