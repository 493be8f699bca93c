/** What the attributes of the address are for a page: those that can filter its figures, and those that can divide them. */
export type Attributes = { filters: readonly string[]; splits: readonly string[] }

const OF_BOTH = ['target_platform', 'country', 'app_version', 'locale', 'media_source_name', 'campaign_name']
const OF_PURCHASES = ['product_id', 'purchase_currency']
/** Sets of users: nobody is in one of them only. */
const SETS = ['device_id', 'segment_id', 'experiment_group_id']
const ABOUT_USERS = ['users-overview', 'user-to-trial', 'user-to-paid']

/** A chart has them whatever its facts are, so that its figures need not wait for its description, which counts the values. */
export function attributesOf(chart: string): Attributes {
  const columns = ABOUT_USERS.includes(chart) ? OF_BOTH : [...OF_BOTH, ...OF_PURCHASES]
  return { filters: [...columns, ...SETS], splits: chart === 'subscriptions-overview' ? [] : columns }
}

const COHORT_SPLITS = ['target_platform', 'product_id', 'country', 'media_source_name', 'campaign_name']
/** Of cohorts and of lifetime values. */
export const COHORT_ATTRIBUTES: Attributes = { filters: [...COHORT_SPLITS, 'app_version', ...SETS], splits: COHORT_SPLITS }
