import { usePlace } from '../../data/place.ts'
import { useDenied } from '../../data/session.ts'
import { useWrite } from '../../data/write.ts'
import { bucket } from '../../parts/format.ts'
import { Icon } from '../../parts/icon.tsx'
import { t } from '../../parts/t.ts'
import { say, sayWithUndo } from '../../parts/undo.tsx'
import type { Noted } from './picture.ts'

type Own = 'release' | 'price_change' | 'campaign' | 'other'

/** What happened in the range, with the letters of the drawing. Those that people wrote can be taken away. */
export function Annotations({ notes, zone }: { notes: readonly Noted[]; zone: string }) {
  const denied = useDenied('editor', usePlace()?.project)
  const changes = ['v4ListAnalyticsAnnotations'] as const
  const { send: remove } = useWrite('v4DeleteAnalyticsAnnotation', { changes })
  const { send: create } = useWrite('v4CreateAnalyticsAnnotation', { changes })
  if (notes.length === 0) return null
  const take = async ({ id, at, text, kind }: Noted) => {
    await remove({ path: { annotation_id: id } })
    sayWithUndo(t('The annotation is taken away'), () => create({ body: { at, text, kind: kind as Own } }))
  }
  return (
    <ol className="notes" aria-label={t('Annotations')}>
      {notes.map(note => (
        <li key={note.id}>
          <b>{note.letter}</b> <span className="notes-text">{note.text}</span>{' '}
          <span className="notes-day">{bucket(note.at, 'day', zone)}</span>
          {!note.is_automatic && !denied && (
            <button
              type="button"
              className="icon-button small"
              aria-label={t('Take away {text}', { text: note.text })}
              onClick={() => void take(note).catch((error: Error) => say(error.message))}
            >
              <Icon name="close" size={12} />
            </button>
          )}
        </li>
      ))}
    </ol>
  )
}
