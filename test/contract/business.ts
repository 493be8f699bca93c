// Refusals of input that is valid for its schema: rules about several fields, about existing resources, or beyond what a schema can express.
import type { Answer } from '../harness/client.ts'
import type { Described } from '../harness/described.ts'
import { fieldsOf } from './oracle.ts'

const PRODUCT_IDS = 'invalid_product_id product_ids|product_not_in_project product_ids'
const CONDITIONS = '(segmentation_)?conditions\\[\\d+\\]\\.(metric|comparator|value)'
const AUTOMATION = 'data\\.(initiators\\[\\d+\\]\\.uid|actions|steps(\\W.*)?)'
const REPORT =
  'included_range_days|environment|timezone|weekday|day_of_month|destinations\\[\\d+\\]\\.id|include|format|view_id|code|charts(\\W.*)?'
const FIGURES = 'from|to|unit|environment|currency|segmentation|timezone|rate_date'
const COHORTS = 'cohort_to|segment|currency|environment|rate_date'
const VIEW = 'code|range\\.to|query(\\..*)?'
const STORE_DATA = '(app|play|stripe|paddle)_store_data(\\.\\w+)?'

/** By operation: `code field` of every possible 400 for valid input; without a code it is `invalid_data`. */
const RULES: Record<string, string> = {
  v4CreateUser: 'environment|created_at',
  v4SetUserProperties: 'properties',
  v4SetCustomerProperties: 'properties',
  v4CreateEntitlement: PRODUCT_IDS,
  v4UpdateEntitlement: PRODUCT_IDS,
  v4GrantUserEntitlement: 'expires_at',
  v4GrantCustomerPermission: 'expires_at|started_at',
  v4CreateProduct: 'duration|google_base_plan_id',
  v4UpdateProduct: 'duration|google_base_plan_id',
  v4CreatePurchase: `expires_at|is_auto_renewing|period_type|is_discounted|purchased_at|price|currency|${STORE_DATA}|(invalid_product_id|product_not_in_project) ${STORE_DATA}`,
  v4UpdateUserPurchase:
    'expires_at|is_voluntary|billing_retry_at|grace_period_expires_at|refunded_at|refunded_amount|invalid_product_id planned_product_id',
  v4CreateOffering: `tag|cannot_set_main_directly |${PRODUCT_IDS}`,
  v4UpdateOffering: `tag|cannot_set_main_directly |${PRODUCT_IDS}`,
  v4ListEvents: 'offset',
  v4ListCustomers: 'environment|page',
  v4GetCustomerMetrics: 'environment',
  v4CreateRemoteConfiguration: CONDITIONS,
  v4UpdateRemoteConfiguration: CONDITIONS,
  v4EvaluateUserRemoteConfigurations: 'context_keys\\[\\d+\\]',
  v4CreateSegment: `user_ids(\\[\\d+\\])?|${CONDITIONS}`,
  v4UpdateSegment: `user_ids(\\[\\d+\\])?|${CONDITIONS}`,
  v4PreviewSegment: CONDITIONS,
  v4CreateExperiment: CONDITIONS,
  v4UpdateExperiment: CONDITIONS,
  v4GetExperimentsSummary: 'currency|from|to|environment',
  v4GetAnalyticsChart: FIGURES,
  v4ListAnalyticsCharts: `codes\\[\\]|${FIGURES}`,
  v4ListAnalyticsChartFacts: `start_time|series|segment|${FIGURES}`,
  v4ExplainAnalyticsChart: `start_time|series|segment|${FIGURES}`,
  v4GetAnalyticsCard: FIGURES,
  v4GetAnalyticsChartMeta: 'environment',
  v4ListAnalyticsCurrencies: 'environment',
  v4GetScreensAnalyticsOverview: FIGURES,
  v4GetScreenAnalytics: FIGURES,
  v4GetAppleAdsReport: 'to|environment',
  v4GetAppleAdsSeries: 'to|environment',
  v4GetAnalyticsCohorts: `grouping|${COHORTS}`,
  v4ListAnalyticsCohortPeople: `grouping|cohort|period|segment_code|${COHORTS}`,
  v4GetAnalyticsLtv: COHORTS,
  v4GetAnalyticsInsights: 'environment|cached_only',
  v4GetAnalyticsCohortsMeta: 'environment',
  v4GetAnalyticsLtvMeta: 'environment',
  v4GetAnalyticsLtvTrialConversion: COHORTS,
  v4CreateAnalyticsView: VIEW,
  v4UpdateAnalyticsView: VIEW,
  v4ListAnalyticsAnnotations: 'to',
  v4CreateEvents: 'events\\[\\d+\\].*',
  v4CreateExport: 'from_timestamp|to_timestamp|compression|include|updated_from|segment_id',
  v4CreateNotificationChannel: 'settings(\\..*)?',
  v4UpdateNotificationChannel: 'type|settings(\\..*)?',
  v4CreatePush: 'integration_id',
  v4UpdatePush: 'integration_id',
  v4CreateAutomation: AUTOMATION,
  v4UpdateAutomation: AUTOMATION,
  v4BacktestAutomation: `from|to|${AUTOMATION}`,
  v4GetAutomationStepCounts: 'to',
  v4ReplayAutomationRun: 'from_step',
  v4CreateScheduledReport: REPORT,
  v4UpdateScheduledReport: REPORT,
  v4PreviewScheduledReportSlots: 'timezone|weekday|day_of_month',
  v4ResendScheduledReportRun: 'destination_ids',
  v4CreateApiKey: 'environment|expires_at',
  v4UpdateProjectSettings: 'proxy_url|rtdn_proxy_url',
  v4UpdateIntegrationConfig: 'settings\\..*|events|event_mapping\\..*',
  v4TestIntegration: 'event',
  v4ReplayIntegrationDeliveries: 'to|events',
  v4UpdateStoreConfig: '\\w+',
  v4GetLedger: 'from|to',
  v4ListLedgerRows: 'from|to|state',
  v4AdvanceTestClock: 'by|to|body',
}

/** The refusals that no rule of RULES explains. */
export function unexplained(operation: Described, answer: Answer): string[] {
  if (answer.status !== 400) return []
  const { code, details } = answer.body.error
  const fields = details ? fieldsOf(answer) : ['']
  const rule = new RegExp(`^(${RULES[operation.id] ?? 'none'})(\\[\\d+\\])?$`)
  return fields.map(field => (code === 'invalid_data' ? field : `${code} ${field}`)).filter(reason => !rule.test(reason))
}
