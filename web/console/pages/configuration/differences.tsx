import { counted, t } from '../../parts/t.ts'
import type { Base } from './draft.ts'
import { type Change, changesOf } from './payload.ts'

/** Values first, then types. */
export const linesOf = (before: Base, after: Base): Change[] => [
  ...changesOf(before.payload, after.payload),
  ...changesOf(before.mapping, after.mapping).map(({ key, ...rest }) => ({ key: t('{key}, type', { key }), ...rest })),
]

const SIGN = { added: '+', gone: '−', other: '~' } as const
const kindOf = ({ was, is }: Change) => (was === undefined ? 'added' : is === undefined ? 'gone' : 'other')

/** What would change, key by key. Values are JSON. */
export function Differences({ lines, isReordered }: { lines: readonly Change[]; isReordered: boolean }) {
  return (
    <section className="payload-diff" aria-label={t('What would change')}>
      <h3>
        {isReordered
          ? t('Only the order of the keys would change')
          : lines.length === 0
            ? t('Nothing is different from what is stored')
            : counted(lines.length, '{n} difference from what is stored', '{n} differences from what is stored')}
      </h3>
      {lines.length > 0 && (
        <ul>
          {lines.map(line => (
            <li key={line.key} className={kindOf(line)}>
              <span aria-hidden="true">{SIGN[kindOf(line)]}</span>
              <code>{line.key}</code>
              <span className="payload-sides">
                {line.was !== undefined && (
                  <>
                    <span className="unseen">{t('before:')} </span>
                    <del>{line.was}</del>
                  </>
                )}
                {line.is !== undefined && (
                  <>
                    <span className="unseen">{t('after:')} </span>
                    <ins>{line.is}</ins>
                  </>
                )}
              </span>
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}
