/** Paddle grants three requests a second to the whole installation, and a story of a test has hundreds. What a full budget does has tests of its own. */
export const FULL_BUDGETS = `
  create function fill_budget() returns trigger language plpgsql as 'begin new.tokens = 1000; return new; end';
  create trigger full_budgets before insert or update on store_budgets for each row execute function fill_budget()`
