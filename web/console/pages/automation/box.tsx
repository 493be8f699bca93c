import type { AutomationData, AutomationStep, AutomationVersionCounts } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { count } from '../../parts/format.ts'
import { Icon, type IconName } from '../../parts/icon.tsx'
import { counted, t } from '../../parts/t.ts'
import { countOfStep } from './use-counts.ts'
import { type NameOfEvent, ruleTexts, stepLook, stepText } from './words.ts'

type Look = { icon: IconName; title: string; name?: string; text: string }
type Figure = { text: string; tone?: 'info' | 'warn' | 'bad' }

/** A step: what it is, and how many runs are or were there. It opens its drawer. */
export function StepBox({
  step,
  counts,
  nameOf,
}: {
  step: AutomationStep
  counts: AutomationVersionCounts | undefined
  nameOf: NameOfEvent
}) {
  const [, set] = useAddress()
  const { icon, name } = stepLook(step.type)
  const own = countOfStep(counts, step.id)
  const figures: Figure[] = counts
    ? [
        { text: counted(own?.reached ?? 0, '{n} reached it', '{n} reached it') },
        ...(own && own.waiting > 0 ? [{ text: t('{n} waiting', { n: count(own.waiting) }), tone: 'info' as const }] : []),
        ...(own && own.retrying > 0 ? [{ text: t('{n} retrying', { n: count(own.retrying) }), tone: 'warn' as const }] : []),
        ...(own && own.failed > 0 ? [{ text: t('{n} failed', { n: count(own.failed) }), tone: 'bad' as const }] : []),
      ]
    : []
  return (
    <Box
      look={{ icon, title: t(name), name: step.id, text: stepText(step, nameOf) }}
      figures={figures}
      onOpen={() => set({ at: `step.${step.id}` }, { push: true })}
    />
  )
}

export function StartBox({
  data,
  counts,
  nameOf,
}: {
  data: AutomationData
  counts: AutomationVersionCounts | undefined
  nameOf: NameOfEvent
}) {
  const title = data.initiators.map(({ uid }) => nameOf(uid)).join(t(' or ')) || t('Nothing starts it')
  const skipped = counts ? Object.values(counts.skipped).reduce((sum, n) => sum + n, 0) : 0
  const figures: Figure[] = counts
    ? [
        { text: t('{n} started', { n: count(counts.started) }) },
        ...(skipped > 0 ? [{ text: t('{n} did not start', { n: count(skipped) }), tone: 'warn' as const }] : []),
      ]
    : []
  return <Box isStart look={{ icon: 'bolt', title, text: ruleTexts(data).join(' · ') || t('for everybody') }} figures={figures} />
}

export function EndBox({ counts }: { counts: AutomationVersionCounts | undefined }) {
  const figures: Figure[] = counts
    ? [
        { text: t('{n} succeeded', { n: count(counts.succeeded) }) },
        ...(counts.failed > 0 ? [{ text: t('{n} failed', { n: count(counts.failed) }), tone: 'bad' as const }] : []),
        ...(counts.cancelled > 0 ? [{ text: t('{n} cancelled', { n: count(counts.cancelled) }), tone: 'warn' as const }] : []),
      ]
    : []
  return (
    <Box
      isEnd
      look={{ icon: 'check', title: t('End'), text: counts ? t('{n} under way', { n: count(counts.unfinished) }) : '' }}
      figures={figures}
    />
  )
}

function Box({
  look: { icon, title, name, text },
  figures,
  isStart,
  isEnd,
  onOpen,
}: {
  look: Look
  figures: readonly Figure[]
  isStart?: boolean
  isEnd?: boolean
  onOpen?: () => void
}) {
  const content = (
    <>
      <span className="box-head">
        <Icon name={icon} size={14} />
        <span className="box-title" title={title}>
          {title}
        </span>
        {name && (
          <code className="box-id" title={name}>
            {name}
          </code>
        )}
      </span>
      <bdi className="box-text" title={text}>
        {text}
      </bdi>
      <span className="box-figures">
        {figures.map(({ text: figure, tone }) => (
          <span key={figure} className={tone ? `box-figure ${tone}` : 'box-figure'}>
            {figure}
          </span>
        ))}
      </span>
    </>
  )
  const className = ['box', isStart && 'start', isEnd && 'end'].filter(Boolean).join(' ')
  if (!onOpen) return <div className={className}>{content}</div>
  return (
    <button type="button" className={className} data-row onClick={onOpen}>
      {content}
    </button>
  )
}
