import { Button } from '@mantine/core'
import type { Automation } from '../../../../clients/typescript/src/index.ts'
import { Act } from '../../parts/act.tsx'
import { Card } from '../../parts/card.tsx'
import { Icon } from '../../parts/icon.tsx'
import { t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'
import { type Draft, draftOf } from './draft.ts'

/** The newer version beside one's own: lines that the other one has not are marked. */
export default function Newer({
  theirs,
  mine,
  onTake,
  onKeep,
}: {
  theirs: Automation
  mine: Draft
  onTake: () => void
  onKeep: () => void
}) {
  const [their, my] = [linesOf(draftOf(theirs)), linesOf(mine)]
  return (
    <Card className="edit-newer">
      <div className="newer-head" role="alert">
        <Icon name="swap" size={16} />
        <p>
          <strong>{t('Somebody changed this in the meantime')}</strong> {t('Saved')} <Time at={theirs.updated_at} />,{' '}
          {t('version {n}', { n: theirs.version })}. {t('Nothing of yours is lost: it stands beside it and in the form.')}
        </p>
        <Button size="xs" variant="default" onClick={onTake}>
          {t('Take the newer one')}
        </Button>
        <Act denied={undefined} size="xs" onClick={onKeep}>
          {t('Save mine over it')}
        </Act>
      </div>
      <div className="newer-sides">
        <Side name={t('Theirs')} lines={their} other={my} />
        <Side name={t('Mine')} lines={my} other={their} />
      </div>
    </Card>
  )
}

const linesOf = (draft: Draft) => JSON.stringify(draft, undefined, 2).split('\n')
const bare = (line: string) => line.replace(/,$/, '')

function Side({ name, lines, other }: { name: string; lines: readonly string[]; other: readonly string[] }) {
  const known = new Set(other.map(bare))
  return (
    <section aria-label={name}>
      <p className="form-label">{name}</p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled with the keyboard */}
      <pre tabIndex={0}>
        {lines.map((line, n) =>
          known.has(bare(line)) ? (
            // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other name
            <span key={n}>{`${line}\n`}</span>
          ) : (
            // biome-ignore lint/suspicious/noArrayIndexKey: as above
            <mark key={n}>{`${line}\n`}</mark>
          ),
        )}
      </pre>
    </section>
  )
}
