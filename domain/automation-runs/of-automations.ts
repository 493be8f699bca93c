/**
 * In SQL: the automations (`automation_id`) of an environment that have runs, deleted ones too, by one look at the index each. What is
 * asked of an environment's runs by the time of their creation is asked of each automation's.
 */
export const automationsWithRuns = (environment: string): string => `
  with recursive found(automation_id) as (
    (select automation_id from automation_runs where environment = ${environment} order by automation_id limit 1)
    union all
    select n.automation_id from found f cross join lateral (
      select automation_id from automation_runs where environment = ${environment} and automation_id > f.automation_id
      order by automation_id limit 1) n
  ) select automation_id from found`
