import type { ChartOf } from './chart-table.ts'

/**
 * An attribute of facts. `category`: the object that it is a property of. `type`: list, its values can be listed; text, an exact match.
 * `persistent`: every chart has it. `columns`: its columns in transactions, in the states of changes (after the prefix `a_` or `b_`, unless
 * `hasOneState`), in users, and in users of cohorts by their first transaction. An attribute without columns is a set of users: those for
 * whom it is true now.
 */
type AttributeRow = {
  code: string
  label: string
  category: 'user' | 'purchase'
  type: 'list' | 'text'
  persistent: boolean
  columns: { transaction: string; state: string; hasOneState: boolean; user: string | null; cohort: string } | null
}

const column = (name: string) => ({ transaction: name, state: name, hasOneState: false, user: name, cohort: `class_${name}` })
const ofUser = (name: string) => ({ transaction: name, state: name, hasOneState: true, user: name, cohort: name })

export const ATTRIBUTES = [
  { code: 'target_platform', label: 'Store', category: 'purchase', type: 'list', persistent: true, columns: column('platform') },
  {
    code: 'product_id',
    label: 'Product',
    category: 'purchase',
    type: 'list',
    persistent: false,
    columns: { ...column('product'), user: null },
  },
  {
    code: 'purchase_currency',
    label: 'Purchase currency',
    category: 'purchase',
    type: 'list',
    persistent: false,
    columns: { ...column('currency'), user: null },
  },
  { code: 'country', label: 'Country', category: 'user', type: 'list', persistent: true, columns: column('country') },
  { code: 'app_version', label: 'App version', category: 'user', type: 'list', persistent: true, columns: column('app_version') },
  { code: 'locale', label: 'Locale', category: 'user', type: 'list', persistent: true, columns: column('locale') },
  { code: 'media_source_name', label: 'Media source', category: 'user', type: 'list', persistent: true, columns: ofUser('media') },
  { code: 'campaign_name', label: 'Campaign', category: 'user', type: 'list', persistent: true, columns: ofUser('campaign') },
  { code: 'device_id', label: 'Device ID', category: 'user', type: 'text', persistent: true, columns: null },
  { code: 'segment_id', label: 'Segment', category: 'user', type: 'list', persistent: true, columns: null },
  { code: 'experiment_group_id', label: 'Experiment group', category: 'user', type: 'list', persistent: true, columns: null },
] as const satisfies readonly AttributeRow[]

export type AttributeCode = (typeof ATTRIBUTES)[number]['code']
export type Attribute = AttributeRow & { code: AttributeCode }
/** An attribute that is a column of the facts; it can also segment. */
export type ColumnAttribute = Attribute & { columns: NonNullable<AttributeRow['columns']> }

export const attributeOf = (code: string): Attribute | undefined => ATTRIBUTES.find(attribute => attribute.code === code)

export const isColumn = (attribute: Attribute): attribute is ColumnAttribute => attribute.columns !== null

/** The code of a value that is not known. */
export const UNKNOWN = 'unknown'
const UNKNOWN_LABEL = 'Unknown'

const hasUserColumn = ({ columns }: Attribute) => columns === null || columns.user !== null

/** The attributes that can restrict a chart. */
export const filtersOf = ({ about }: Pick<ChartOf, 'about'>): Attribute[] =>
  about === 'users' ? ATTRIBUTES.filter(hasUserColumn) : [...ATTRIBUTES]

/** The attributes that can divide a chart into series. */
export const segmentationsOf = (chart: Pick<ChartOf, 'about' | 'segmented'>): ColumnAttribute[] =>
  chart.segmented ? filtersOf(chart).filter(isColumn) : []

/** The attributes that a chart has. */
export const rulesOf = (chart: Pick<ChartOf, 'about' | 'segmented'>) => ({
  filters: filtersOf(chart),
  segmentations: segmentationsOf(chart),
})

const STORES: Record<string, string> = { iOS: 'Apple App Store', Android: 'Google Play' }

/** The label of a value for people; null: it is not known. */
export function labelOf(attribute: AttributeCode, value: string | null): string {
  if (value === null) return UNKNOWN_LABEL
  return attribute === 'target_platform' ? (STORES[value] ?? value) : value
}
