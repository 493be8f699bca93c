import type { UseQueryResult } from '@tanstack/react-query'
import type { Experiment, ExperimentGroupSummary, ExperimentSummary, ExperimentsSummary } from '../../../../clients/typescript/src/index.ts'
import type { Input } from '../../data/operations.ts'
import { Amount, Count, Figure } from '../../parts/amount.tsx'
import { Card } from '../../parts/card.tsx'
import { shortId } from '../../parts/copy.tsx'
import { CurrencyPick } from '../../parts/currency-pick.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { figure } from '../../parts/format.ts'
import { measureOf, metricName } from '../../parts/growth/metrics.ts'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { StatusChip } from '../../parts/status-chip.tsx'
import { counted, t } from '../../parts/t.ts'
import { type Column, Table } from '../../parts/table.tsx'
import { Unconverted } from '../../parts/unconverted.tsx'
import { verdictOf } from './verdict.ts'

type Props = {
  of: Experiment
  results: UseQueryResult<ExperimentsSummary, Error>
  summary: ExperimentSummary | undefined
  input: Input<'v4GetExperimentsSummary'>
}

/** What the people of each group did since they are in it. Nothing here is computed: the service compares, and says what it is sure of. */
export function Results({ of: experiment, results, summary, input }: Props) {
  const read = { ...results, data: summary, isPlaceholderData: results.isPlaceholderData && summary !== undefined }
  const currency = results.data?.currency ?? 'USD'
  return (
    <Card
      flush
      className="experiment-results"
      title={t('Results')}
      right={
        <>
          <CurrencyPick />
          <ShowTheCall name="v4GetExperimentsSummary" input={input} />
        </>
      }
    >
      <DataState
        of={read}
        rows={4}
        isEmpty={({ groups }) => groups.every(({ users }) => users === 0)}
        empty={
          <p className="experiment-nobody">
            {experiment.status === 'draft' ? t('Results begin when it starts.') : t('Nobody is in a group yet.')}
          </p>
        }
      >
        {({ groups, primary_metric }) => (
          <>
            <Primary groups={groups} metric={primary_metric} currency={currency} />
            <Table
              caption={t('What the people of each group did')}
              columns={columnsIn(currency)}
              rows={groups}
              rowKey={({ group_uid }) => group_uid}
            />
            <div className="experiment-foot">
              {(results.data?.behind ?? 0) > 0 && (
                <p className="growth-note">
                  {counted(
                    results.data?.behind ?? 0,
                    '{n} person has changes that are not counted yet.',
                    '{n} people have changes that are not counted yet.',
                  )}
                </p>
              )}
              <Unconverted money={results.data?.unconverted} />
              <p className="growth-note">
                {t('Facts count from the moment somebody was assigned. ARPU is sales less refunds per person of the group.')}
              </p>
            </div>
          </>
        )}
      </DataState>
    </Card>
  )
}

/** The metric that decides, group by group, beside the control. */
function Primary({ groups, metric, currency }: { groups: readonly ExperimentGroupSummary[]; metric: string | null; currency: string }) {
  if (metric === null) return <p className="experiment-nobody">{t('Without a primary metric nothing is compared.')}</p>
  const measure = measureOf(metric)
  return (
    <section className="experiment-primary" aria-label={metricName(metric)}>
      <h3>{metricName(metric)}</h3>
      <ul>
        {groups.map(group => {
          const { says, tone, more } = verdictOf(group)
          return (
            <li key={group.group_uid}>
              <GroupName of={group} />
              <span className="experiment-value">
                {group.primary_metric_value === null ? (
                  '–'
                ) : (
                  <Figure value={group.primary_metric_value} measure={measure} currency={currency} />
                )}
              </span>
              <span className="experiment-uplift">
                {group.uplift !== null && (
                  <data value={group.uplift} title={String(group.uplift)}>
                    {t('{uplift} against the control', { uplift: signed(group.uplift) })}
                  </data>
                )}
              </span>
              <span className="experiment-verdict">
                {says !== '' && <StatusChip status="verdict" tone={tone} label={says} />}
                {group.goal_reached === true && <StatusChip status="goal" tone="info" label={t('Goal reached')} />}
                {more !== '' && (
                  <span className="growth-note" title={group.p_value === null ? undefined : `p = ${group.p_value}`}>
                    {more}
                  </span>
                )}
              </span>
            </li>
          )
        })}
      </ul>
    </section>
  )
}

const signed = (percent: number) => `${percent > 0 ? '+' : ''}${figure(percent, 'percent')}`

const GroupName = ({ of: { name, group_uid, is_control } }: { of: ExperimentGroupSummary }) => (
  <span className="growth-name">
    <bdi>{name ?? shortId(group_uid)}</bdi>
    {is_control && <StatusChip status="control" label={t('Control')} />}
  </span>
)

/** A second figure below the one that it belongs to. */
const Below = ({ text }: { text: string }) => <span className="growth-below nowrap">{text}</span>

const columnsIn = (currency: string): readonly Column<ExperimentGroupSummary>[] => [
  { key: 'group', head: t('Group'), cell: group => <GroupName of={group} /> },
  {
    key: 'people',
    head: t('People'),
    figures: true,
    cell: ({ users, pinned_users }) => (
      <>
        <Count value={users} />
        {pinned_users > 0 && <Below text={t('{n} pinned', { n: figure(pinned_users) })} />}
      </>
    ),
  },
  {
    key: 'trials',
    head: t('Trials'),
    figures: true,
    cell: ({ trials, trial_conversions }) => (
      <>
        <Count value={trials} />
        {trials > 0 && <Below text={t('{n} converted', { n: figure(trial_conversions) })} />}
      </>
    ),
  },
  { key: 'paying', head: t('Paid'), figures: true, cell: ({ paying_users }) => <Count value={paying_users} /> },
  { key: 'subscriptions', head: t('Subscriptions'), figures: true, cell: ({ subscriptions }) => <Count value={subscriptions} /> },
  { key: 'once', head: t('One-time'), figures: true, cell: ({ in_app_purchases }) => <Count value={in_app_purchases} /> },
  {
    key: 'sales',
    head: t('Sales'),
    figures: true,
    cell: ({ sales, refunds }) => (
      <>
        <Amount value={sales} currency={currency} />
        {refunds !== 0 && <Below text={t('{amount} refunded', { amount: figure(refunds, 'usd', currency) })} />}
      </>
    ),
  },
  { key: 'proceeds', head: t('Proceeds'), figures: true, cell: ({ proceeds }) => <Amount value={proceeds} currency={currency} /> },
  { key: 'arpu', head: t('ARPU'), figures: true, cell: ({ arpu }) => <Amount value={arpu} currency={currency} /> },
]
