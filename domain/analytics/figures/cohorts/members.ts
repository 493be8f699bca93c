import { type AttributeCode, attributeOf, type ColumnAttribute } from '../attributes.ts'
import { intervalSql, isOneRun } from '../buckets.ts'
import { conditionsOf, loadRestriction } from '../restriction.ts'
import type { FigureRelation, FigureStatement } from '../source.ts'
import type { RequestedMembers } from './question.ts'
import { type FactReader, segmentsOf, type UserSegment, userValue } from './user-values.ts'

/**
 * The users that a question is about. `condition`: SQL on the users `u`, in addition to the condition on the anchor; null: all of them.
 * `segments`: null unless requested. `segment`: SQL for its index.
 */
export type Members = RequestedMembers & {
  condition: string | null
  segments: UserSegment[] | null
  relations: FigureRelation[]
  /** Starts of the cohorts in which the anchors lie. */
  starts: readonly number[]
}

/** The counts of the users of a segment and cohort of whom `over` periods are over; anchors in Unix seconds. */
export type MemberCount = {
  segment: number
  cohort: number
  over: number
  users: number
  paying: number
  firstAnchor: number
  lastAnchor: number
}

const SEGMENTS = 'segments'

/** SQL: the anchor lies in the range and is known by now. */
export const anchored = (anchor: string, { range, now }: RequestedMembers): string =>
  `${anchor} >= ${range.from} and ${anchor} < ${Math.min(range.to, now + 1)}`

/** SQL: the rows of the users, with their index of a segment (0 unless segmented). */
export function memberRows({ dialect }: FactReader['source'], members: Members): string {
  const { anchor, segment, condition } = members
  const joined = segment === null ? '' : `join ${SEGMENTS} s on s.value = ${userValue(segment, 'u')}`
  const where = [anchored(`u.${anchor}`, members), ...(condition === null ? [] : [condition])].join(' and ')
  return `select u.user_no, u.${anchor} as anchor, u.first_paid, ${segment === null ? '0' : 's.segment'} as segment
    from ${dialect.tables.users} u ${joined} where ${where}`
}

/** SQL for the value of a user, of an attribute with a column. */
const classOf = (code: AttributeCode): string => userValue(attributeOf(code) as ColumnAttribute, 'u')

async function restrictionOf(
  reader: FactReader,
  { filters }: RequestedMembers,
): Promise<{ condition: string | null; sets: FigureRelation[] }> {
  if (filters.size === 0) return { condition: null, sets: [] }
  const restriction = await loadRestriction(reader, reader.environment, filters)
  return { condition: conditionsOf(restriction, 'u.user_no', classOf).join(' and '), sets: restriction.sets }
}

/** Finds the users of the question, and the segments in which they are. */
export async function findMembers(reader: FactReader, requested: RequestedMembers, starts: readonly number[]): Promise<Members> {
  const { condition, sets } = await restrictionOf(reader, requested)
  const plain: Members = { ...requested, segment: null, condition, segments: null, relations: sets, starts }
  if (requested.segment === null) return plain
  const { source } = reader
  const value = userValue(requested.segment, 'u')
  const where = [anchored(`u.${requested.anchor}`, requested), ...(condition === null ? [] : [condition])].join(' and ')
  const rows = await source.query({
    text: `select ${value} as value, count(*) as users from ${source.dialect.tables.users} u where ${where} group by ${value}`,
    relations: plain.relations,
  })
  const users = new Map(rows.map(row => [Number(row.value), Number(row.users)]))
  const segments = await segmentsOf(reader, requested.segment.code, users)
  const pairs = segments.flatMap(({ numbers }, index) => numbers.map(value => ({ value: BigInt(value), segment: BigInt(index) })))
  const relation: FigureRelation = {
    name: SEGMENTS,
    columns: [
      { name: 'value', values: pairs.map(({ value }) => value) },
      { name: 'segment', values: pairs.map(({ segment }) => segment) },
    ],
  }
  return { ...plain, segment: requested.segment, segments, relations: [...plain.relations, relation] }
}

/** SQL for the index of the cohort of an anchor. */
const cohortSql = (anchor: string, { starts, range }: Members, { dialect }: FactReader['source']): string =>
  intervalSql(anchor, { starts, end: range.to }, dialect.divide)

const DAY = 86_400

/** `key`: SQL on a row for a number by which rows are added up. `cohort`: SQL for the index of the cohort that has these rows. */
export type CohortKey = { key: string; cohort: (key: string) => string }

/**
 * Rows are added up by the day of their anchor where the cohorts begin with days of the calendar: a search among months costs more than all
 * other work on a row.
 */
export function cohortKey(anchor: string, members: Members, source: FactReader['source']): CohortKey {
  const { starts, range } = members
  const { divide, small } = source.dialect
  const [first, ...others] = starts
  if (isOneRun({ starts, end: range.to }) || others.some(start => start % DAY !== 0))
    return { key: small(cohortSql(anchor, members, source), starts.length), cohort: key => key }
  const base = first! - (first! % DAY)
  return {
    key: divide(`(${anchor} - ${base})`, DAY, range.to - base),
    cohort: key => cohortSql(`greatest(${key} * ${DAY} + ${base}, ${first!})`, members, source),
  }
}

/**
 * SQL for how many of the periods are over for a user. `ends`: of the periods, in seconds after the anchor, in order. Few of the limits lie in the
 * range; those before it end no period, and those after it end one for everybody.
 */
function overSql(anchor: string, { range, now }: Members, ends: readonly number[], { dialect }: FactReader['source']): string {
  const end = Math.min(range.to, now + 1)
  // The period is over for those whose anchor is before its limit.
  const limits = ends.map(after => now - after + 1).filter(limit => limit > range.from)
  const inside = limits.filter(limit => limit < end).sort((a, b) => a - b)
  if (inside.length === 0) return String(limits.length)
  return `${limits.length} - (${intervalSql(anchor, { starts: [range.from, ...inside], end }, dialect.divide)})`
}

/** The counts of all segments and cohorts that have users. `ends`: of the periods by days; empty: their ends do not matter. */
export async function countByCohort(source: FactReader['source'], members: Members, ends: readonly number[]): Promise<MemberCount[]> {
  const rows = await source.query(memberCounts(source, members, ends))
  return rows.map(row => ({
    segment: Number(row.segment),
    cohort: Number(row.cohort),
    over: Number(row.over_periods),
    users: Number(row.users),
    paying: Number(row.paying),
    firstAnchor: Number(row.first_anchor),
    lastAnchor: Number(row.last_anchor),
  }))
}

const memberCounts = (source: FactReader['source'], members: Members, ends: readonly number[]): FigureStatement => ({
  text: `select segment, cohort, over_periods, count(*) as users, count(*) filter (where first_paid <= ${members.now}) as paying,
      min(anchor) as first_anchor, max(anchor) as last_anchor
    from (select m.*, ${cohortSql('m.anchor', members, source)} as cohort, ${overSql('m.anchor', members, ends, source)} as over_periods
      from (${memberRows(source, members)}) m) c
    group by segment, cohort, over_periods`,
  relations: members.relations,
})
