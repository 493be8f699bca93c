import type { Db } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { type Detail, invalidFields } from '../../kernel/refusal.ts'
import { isZone, NO_ZONE } from '../../kernel/time/local-time.ts'
import { ATTRIBUTES, type Attribute, type AttributeCode, type ColumnAttribute } from './attributes.ts'
import { type BucketUnit, bucketStarts, MAX_BUCKETS, type TimeWindow } from './buckets.ts'

/** The parameters that figures have in common, as the API describes them. Filters are beside them, each in a parameter of its own. */
export type CommonQuery = {
  from?: number | undefined
  to?: number | undefined
  unit?: BucketUnit | undefined
  environment?: 0 | 1 | undefined
  currency?: string | undefined
  segmentation?: string | undefined
  max_series?: number | undefined
  timezone?: string | undefined
  rate_date?: string | undefined
  previous?: boolean | undefined
  fresh?: boolean | undefined
}

/** For each attribute the values of which one must agree; an attribute without filter has no entry. */
export type Filters = ReadonlyMap<AttributeCode, readonly string[]>

/** A question in which nothing is left to check. `now`: the second up to which facts have happened. `rateDate`: converts everything. */
export type FigureQuestion = {
  now: number
  window: TimeWindow
  unit: BucketUnit
  zone: string | null
  currency: string
  rateDate: string | null
  filters: Filters
  segmentation: ColumnAttribute | null
  maxSeries: number
  previous: boolean
  fresh: boolean
}

/** The data from the database that are needed before a query can be checked. */
export type QueryContext = { now: number; hasRate: boolean }

export async function queryContext(db: Db, environment: Environment, currency: string): Promise<QueryContext> {
  const { rows } = await db.query<QueryContext>({
    name: 'figures-context',
    text: `select floor(extract(epoch from environment_now($1)))::float8 as now,
      $2 = 'USD' or exists (select from currency_rates where currency = $2) as "hasRate"`,
    values: [environment, currency],
  })
  return rows[0]!
}

const DEFAULT_LENGTH = 604_800
const DEFAULT_SERIES = 50

/** From a week before the end to the second after now, unless given. */
function requestedWindow({ from, to }: Pick<CommonQuery, 'from' | 'to'>, now: number): TimeWindow {
  const end = to ?? now + 1
  return { from: from ?? Math.max(0, end - DEFAULT_LENGTH), to: end }
}

export const environmentFaults = (given: 0 | 1 | undefined, own: 0 | 1): Detail[] =>
  given === undefined || given === own ? [] : [{ field: 'environment', message: `must be ${own}, the environment of the key` }]

export const windowFaults = ({ from, to }: TimeWindow, field = 'to', start = 'from'): Detail[] =>
  to > from ? [] : [{ field, message: `must be later than ${start}` }]

export const currencyFaults = (hasRate: boolean): Detail[] =>
  hasRate ? [] : [{ field: 'currency', message: 'has no rates here: see the list of currencies' }]

const isDate = (text: string) => /^\d{4}-\d\d-\d\d$/.test(text) && new Date(`${text}T00:00:00Z`).toJSON()?.slice(0, 10) === text

export const rateDateFaults = (date: string | null): Detail[] =>
  date === null || isDate(date) ? [] : [{ field: 'rate_date', message: 'must be a date such as 2026-03-01' }]

const FILTER = /^filter\[(.*)\]\[\]$/

/** The filters of a query, and a fault for each whose attribute is not `allowed`. */
export function readFilters(query: object, allowed: readonly Attribute[]): { filters: Filters; faults: Detail[] } {
  const filters = new Map<AttributeCode, readonly string[]>()
  const faults: Detail[] = []
  for (const [field, values] of Object.entries(query)) {
    const code = FILTER.exec(field)?.[1]
    if (code === undefined || values === undefined) continue
    const attribute = allowed.find(one => one.code === code)
    if (attribute) filters.set(attribute.code, values as string[])
    else faults.push({ field, message: ATTRIBUTES.some(one => one.code === code) ? 'does not filter these figures' : 'is no attribute' })
  }
  return { filters, faults }
}

/** The attributes by which a kind of figures can be restricted and segmented, and the environment of the key. */
export type QuestionRules = { filters: readonly Attribute[]; segmentations: readonly ColumnAttribute[]; own: 0 | 1 }

/** A fault for each filter, and for the segmentation, that figures with these rules do not have. */
export function attributeFaults(query: CommonQuery, { filters, segmentations }: Omit<QuestionRules, 'own'>): Detail[] {
  const { faults } = readFilters(query, filters)
  const isSegmented = query.segmentation !== undefined
  const isKnown = segmentations.some(({ code }) => code === query.segmentation)
  return isSegmented && !isKnown ? [...faults, { field: 'segmentation', message: noSegmentation(segmentations) }] : faults
}

/** The question of a query. Throws `invalid_data` with every fault. */
export function readQuestion(query: CommonQuery, rules: QuestionRules, { now, hasRate }: QueryContext): FigureQuestion {
  const { unit = 'day', currency = 'USD', segmentation, max_series = DEFAULT_SERIES, timezone = null, rate_date = null } = query
  const window = requestedWindow(query, now)
  const faults = [
    ...environmentFaults(query.environment, rules.own),
    ...windowFaults(window),
    ...currencyFaults(hasRate),
    ...attributeFaults(query, rules),
  ]
  if (timezone !== null && !isZone(timezone)) faults.push({ field: 'timezone', message: NO_ZONE })
  else if (bucketStarts(window, unit, timezone, MAX_BUCKETS + 1).length > MAX_BUCKETS)
    faults.push({ field: 'unit', message: `gives more than ${MAX_BUCKETS} buckets: choose a longer unit or a shorter window` })
  faults.push(...rateDateFaults(rate_date))
  if (faults.length > 0) throw invalidFields(faults)
  return {
    now,
    window,
    unit,
    zone: timezone,
    currency,
    rateDate: rate_date,
    filters: readFilters(query, rules.filters).filters,
    segmentation: rules.segmentations.find(attribute => attribute.code === segmentation) ?? null,
    maxSeries: max_series,
    previous: query.previous ?? false,
    fresh: query.fresh ?? false,
  }
}

const noSegmentation = (segmentations: readonly ColumnAttribute[]): string =>
  segmentations.length === 0 ? 'is not possible for this chart' : `must be one of ${segmentations.map(({ code }) => code).join(', ')}`
