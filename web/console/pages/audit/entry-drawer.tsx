import type { ReactNode } from 'react'
import type { AuditEntry } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { actorOf, deedOf, thingOf } from '../../parts/audit-words.ts'
import { Pairs } from '../../parts/card.tsx'
import { Chip } from '../../parts/chip.tsx'
import { Copy } from '../../parts/copy.tsx'
import { Drawer } from '../../parts/drawer.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Icon } from '../../parts/icon.tsx'
import { counted, t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'
import { To } from '../../parts/to.tsx'
import { differenceOf, type Line } from './difference.ts'
import { targetOf } from './target.ts'

/** One change: who, what, when, and its two sides as one text. */
export function EntryDrawer({ entry, onClose }: { entry: AuditEntry; onClose: () => void }) {
  const [, set] = useAddress()
  const only = (change: Record<string, string>) => set({ ...change, after: undefined, at: undefined })
  const target = targetOf(entry)
  return (
    <Drawer title={deedOf(entry.operation)} onClose={onClose}>
      <Pairs
        rows={[
          [t('Who'), <bdi key="who">{actorOf(entry.actor)}</bdi>],
          [t('When'), <Time key="when" at={entry.created_at} />],
          [t('Operation'), <Copy key="operation" text={entry.operation} />],
          [t('On'), thingOf(entry.resource)],
          [t('Its id'), entry.resource_id === null ? undefined : <Copy key="id" text={entry.resource_id} />],
          [t('Request'), entry.request_id === null ? undefined : <Copy key="request" text={entry.request_id} />],
          [t('Reason'), entry.reason ?? undefined],
        ]}
      />
      <div className="audit-actions">
        {target && (
          <To {...target} className="chip">
            {t('Go there')}
            <Icon name="next" size={12} />
          </To>
        )}
        {entry.resource_id !== null && (
          <Chip onClick={() => only({ 'f.id': entry.resource_id! })}>{t('Everything about this object')}</Chip>
        )}
        <Chip onClick={() => only({ 'f.operation': entry.operation })}>{t('Only this operation')}</Chip>
      </div>
      <h3 className="audit-title">{titleOf(entry)}</h3>
      <Difference entry={entry} />
    </Drawer>
  )
}

export const NotOnThisPage = ({ onClose }: { onClose: () => void }) => (
  <Drawer title={t('A change')} onClose={onClose}>
    <Empty
      icon="audit"
      title={t('It is not on this page')}
      why={t('The entry of this link is further back, or the filters do not have it.')}
    />
  </Drawer>
)

const titleOf = ({ before, after }: AuditEntry) =>
  before === null
    ? after === null
      ? t('What changed')
      : t('What was made')
    : after === null
      ? t('What was removed')
      : t('Before and afterwards')

const SIGNS = { same: ' ', before: '−', after: '+' } as const

function Difference({ entry: { before, after } }: { entry: AuditEntry }) {
  const lines = differenceOf(before, after)
  if (!lines.some(({ kind }) => kind === 'before' || kind === 'after'))
    return <p className="soft">{t('Its values are not written down, or none of them changed.')}</p>
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled with the keyboard
    <section className="audit-difference" aria-label={t('Difference')} tabIndex={0}>
      {lines.map((line, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a text that never changes
        <LineOf key={at} line={line} />
      ))}
    </section>
  )
}

function LineOf({ line }: { line: Line }): ReactNode {
  if (line.kind === 'gap') return <span className="audit-gap">{counted(line.lines, '{n} line is the same', '{n} lines are the same')}</span>
  const text = (
    <>
      <i aria-hidden="true">{SIGNS[line.kind]}</i>
      <span>{line.text}</span>
    </>
  )
  if (line.kind === 'before') return <del>{text}</del>
  return line.kind === 'after' ? <ins>{text}</ins> : <span className="audit-same">{text}</span>
}
