import type { Experiment } from '../../../../clients/typescript/src/index.ts'
import { Card, Pairs } from '../../parts/card.tsx'
import { ConditionsInWords } from '../../parts/conditions/named-pick.tsx'
import { Copy } from '../../parts/copy.tsx'
import { goalText, metricName } from '../../parts/growth/metrics.ts'
import { PercentBar } from '../../parts/growth/percent-bar.tsx'
import { contextText } from '../../parts/growth/words.ts'
import { t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'

const SAYS: Readonly<Record<Experiment['status'], string>> = {
  draft: 'A draft takes nobody in and serves nothing. Groups can still be added and changed.',
  active: 'It takes new people in. Everyone who is in a group stays there.',
  paused: 'It takes nobody new in. Everyone who is in a group is served as before.',
  finished: 'It has ended for good: its variants are not served any more, and what people did since then does not count.',
}

/** What the experiment is about and whom it takes in. */
export const Setup = ({ of: experiment }: { of: Experiment }) => (
  <Card title={t('Setup')}>
    <p className="growth-note">{t(SAYS[experiment.status])}</p>
    {experiment.description !== null && <p className="experiment-about">{experiment.description}</p>}
    <Pairs
      rows={[
        [t('App asks'), <bdi key="key">{contextText(experiment.context_key)}</bdi>],
        [t('Share'), <PercentBar key="share" percent={experiment.segment_percent ?? 100} />],
        [t('Audience'), <ConditionsInWords key="audience" conditions={experiment.segmentation_conditions ?? []} />],
        [t('People of other experiments'), experiment.is_context_specific ? t('taken in, of other keys') : t('left out')],
        [t('Primary metric'), metricName(experiment.primary_metric)],
        [t('Goal'), goalText(experiment)],
        [t('Started'), <Time key="started" at={experiment.started_at} />],
        ...(experiment.finished_at === null ? [] : [[t('Ended'), <Time key="ended" at={experiment.finished_at} />] as const]),
        [t('Own id'), <Copy key="alias" text={experiment.alias_id} />],
        [t('Id'), <Copy key="id" text={experiment.id} />],
      ]}
    />
  </Card>
)
