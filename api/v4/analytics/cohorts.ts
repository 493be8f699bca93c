import { unconverted as unconvertedMoney } from '../../../domain/analytics/figures/charts/answer.ts'
import { roundedFigure } from '../../../domain/analytics/figures/charts/rounding.ts'
import { readCell } from '../../../domain/analytics/figures/cohorts/cell.ts'
import { computeCohorts } from '../../../domain/analytics/figures/cohorts/cohorts.ts'
import {
  DEFINITION_LABELS,
  GROUPING_LABELS,
  labelled,
  METRIC_LABELS,
  MODE_LABELS,
  REVENUE_LABELS,
} from '../../../domain/analytics/figures/cohorts/labels.ts'
import { computeLtv } from '../../../domain/analytics/figures/cohorts/ltv.ts'
import { type CohortPerson, peopleOfCell } from '../../../domain/analytics/figures/cohorts/people.ts'
import {
  COHORT_FILTERS,
  COHORT_SEGMENTATIONS,
  readCohortQuestion,
  readLtvQuestion,
} from '../../../domain/analytics/figures/cohorts/question.ts'
import { computeTrialConversion } from '../../../domain/analytics/figures/cohorts/trial-conversion.ts'
import { type FilterCondition, filterConditions } from '../../../domain/analytics/figures/filter-values.ts'
import { type FactAccess, withFacts } from '../../../domain/analytics/figures/open-source.ts'
import { environmentFaults, queryContext } from '../../../domain/analytics/figures/question.ts'
import type { Environment, EnvironmentKind } from '../../../domain/kernel/environment.ts'
import { invalidFields } from '../../../domain/kernel/refusal.ts'
import { apiTime, type Db } from '../../../store/connect.ts'
import { figuresRead } from '../../operation.ts'
import { behindField, behindHeader, cursorPage, restartedHeader } from '../../pagination.ts'

const MONEY_DECIMALS = 2

const NUMBER = { sandbox: 0, production: 1 } as const

export const v4GetAnalyticsCohorts = figuresRead(
  'v4GetAnalyticsCohorts',
  async ({ query, environment, environmentKind: kind, db, facts }) => {
    const context = await queryContext(db, environment, query.currency)
    const question = readCohortQuestion(query, { ...context, own: NUMBER[kind] })
    const { period_labels, cohorts, total, max_values, segments, unconverted, asOf, behind } = await computeCohorts(
      facts,
      environment,
      question,
    )
    return {
      body: {
        object: 'analytics_cohorts' as const,
        url: '/v4/analytics/cohorts' as const,
        mode: question.mode,
        grouping: question.grouping,
        cohort_definition: question.definition,
        revenue_type: question.revenue,
        cohort_from: question.range.from,
        cohort_to: question.range.to,
        currency: question.currency,
        period_labels,
        cohorts,
        total,
        max_values,
        ...(segments && { segments }),
        ...unconvertedMoney(unconverted),
        as_of: asOf,
        ...behindField(behind),
      },
    }
  },
)

const time = (seconds: number) => apiTime(new Date(seconds * 1000).toISOString())

const person = ({ id, user, anchor, paid, product, platform }: CohortPerson) => ({
  object: 'analytics_cohort_person' as const,
  id,
  customer_uid: user,
  anchor_at: time(anchor),
  payments: paid?.payments ?? null,
  revenue: paid && roundedFigure(paid.revenue, MONEY_DECIMALS),
  first_paid_at: paid && time(paid.first),
  last_paid_at: paid && time(paid.last),
  product_id: product,
  target_platform: platform,
})

export const v4ListAnalyticsCohortPeople = figuresRead(
  'v4ListAnalyticsCohortPeople',
  async ({ query, environment, environmentKind: kind, db, facts }) => {
    const { limit, starting_after: after } = query
    const cell = readCell(query, { ...(await queryContext(db, environment, query.currency)), own: NUMBER[kind] })
    const { people, restarted, behind } = await peopleOfCell(facts, environment, cell, { limit, after })
    return {
      body: cursorPage({ url: '/v4/analytics/cohorts/people', rows: people, limit, item: person }),
      headers: { ...restartedHeader(restarted), ...behindHeader(behind) },
    }
  },
)

export const v4GetAnalyticsLtv = figuresRead('v4GetAnalyticsLtv', async ({ query, environment, environmentKind: kind, db, facts }) => {
  const context = await queryContext(db, environment, query.currency)
  const question = readLtvQuestion(query, { ...context, own: NUMBER[kind] })
  const { cohort_users, paying_users, segments, series, unconverted, asOf, behind } = await computeLtv(facts, environment, question)
  return {
    body: {
      object: 'analytics_ltv' as const,
      url: '/v4/analytics/ltv' as const,
      mode: question.mode,
      cohort_from: question.range.from,
      cohort_to: question.range.to,
      cohort_users,
      paying_users,
      revenue_type: question.revenue,
      currency: question.currency,
      measure: 'usd' as const,
      segment: question.segment?.code ?? null,
      segments,
      series,
      ...unconvertedMoney(unconverted),
      as_of: asOf,
      ...behindField(behind),
    },
  }
})

export const v4GetAnalyticsLtvTrialConversion = figuresRead(
  'v4GetAnalyticsLtvTrialConversion',
  async ({ query, environment, environmentKind: kind, db, facts }) => {
    const context = await queryContext(db, environment, query.currency)
    const question = readLtvQuestion(query, { ...context, own: NUMBER[kind] })
    const { asOf, behind, ...figures } = await computeTrialConversion(facts, environment, question)
    return {
      body: {
        object: 'analytics_ltv_trial_conversion' as const,
        url: '/v4/analytics/ltv/trial-conversion' as const,
        ...figures,
        as_of: asOf,
        ...behindField(behind),
      },
    }
  },
)

const segmentations = COHORT_SEGMENTATIONS.map(({ code, label }) => ({ code, label }))

type MetaCall = {
  query: { environment?: 0 | 1 | undefined }
  environment: Environment
  environmentKind: EnvironmentKind
  db: Db
  facts: FactAccess
}

/** The attributes and values of the environment for filters. */
async function conditionsIn({
  query,
  environment,
  environmentKind,
  db,
  facts,
}: MetaCall): Promise<{ conditions: FilterCondition[]; behind: number }> {
  const faults = environmentFaults(query.environment, NUMBER[environmentKind])
  if (faults.length > 0) throw invalidFields(faults)
  return withFacts(facts, environment, async source => ({
    conditions: await filterConditions(source, db, environment, COHORT_FILTERS),
    behind: source.behind,
  }))
}

export const v4GetAnalyticsCohortsMeta = figuresRead('v4GetAnalyticsCohortsMeta', async call => {
  const { conditions, behind } = await conditionsIn(call)
  return {
    body: {
      object: 'analytics_cohorts_meta' as const,
      url: '/v4/analytics/cohorts/meta' as const,
      modes: labelled(MODE_LABELS),
      groupings: labelled(GROUPING_LABELS),
      metrics: labelled(METRIC_LABELS),
      cohort_definitions: labelled(DEFINITION_LABELS),
      revenue_types: labelled(REVENUE_LABELS),
      segmentations,
      filter_conditions: conditions,
      ...behindField(behind),
    },
  }
})

export const v4GetAnalyticsLtvMeta = figuresRead('v4GetAnalyticsLtvMeta', async call => {
  const { conditions, behind } = await conditionsIn(call)
  return {
    body: {
      object: 'analytics_ltv_meta' as const,
      url: '/v4/analytics/ltv/meta' as const,
      modes: labelled(MODE_LABELS),
      segmentations,
      filter_conditions: conditions.map(condition => ({ ...condition, persistent: true })),
      ...behindField(behind),
    },
  }
})
