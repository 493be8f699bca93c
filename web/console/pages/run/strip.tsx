import './strip.css'
import type { AutomationRunDetail } from '../../../../clients/typescript/src/index.ts'
import { usePreferences } from '../../data/session.ts'
import { moment, span } from '../../parts/format.ts'
import { Icon } from '../../parts/icon.tsx'
import { counted, t } from '../../parts/t.ts'
import { iconOf, tookText } from './step-words.ts'
import { type Lane, type PieceKind, placeOf, type Strip as StripOf, stripOf } from './strip.ts'

const LEGEND: readonly [PieceKind | 'tick', string][] = [
  ['done', 'Done'],
  ['wait', 'Waited'],
  ['retry', 'Between attempts'],
  ['bad', 'Failed'],
  ['ahead', 'Ahead'],
  ['tick', 'Attempt'],
]

/** The run in time: a lane for each step. What it says stands below it in words, so it is a picture for readers. */
export function Strip({ run, now }: { run: AutomationRunDetail; now: number }) {
  const { zone } = usePreferences()
  const strip = stripOf(run, now)
  const { lanes, from, last } = strip
  const seen = new Set<string>(lanes.flatMap(({ pieces }) => pieces.map(({ kind }) => kind)))
  if (lanes.some(({ ticks }) => ticks.length > 0)) seen.add('tick')
  if (lanes.some(({ isOpen }) => isOpen)) seen.add('ahead')
  const end = run.finished_at === null ? undefined : Date.parse(run.finished_at)
  const says =
    end === undefined
      ? t('It began {at} and goes on', { at: moment(from / 1000, zone) })
      : t('It began {at} and took {span}', { at: moment(from / 1000, zone), span: span(end - from) })
  const label = `${says}. ${counted(lanes.length, '{n} step, listed below', '{n} steps, listed below')}`
  return (
    <div className="strip" role="img" aria-label={label}>
      <div className="strip-lanes" aria-hidden="true">
        {lanes.map(lane => (
          <LaneRow key={lane.id} lane={lane} strip={strip} />
        ))}
        <div className="strip-axis">
          <span className="strip-name" />
          <span className="strip-scale">
            <span>{moment(from / 1000, zone)}</span>
            <span className="strip-end">{moment((end ?? last) / 1000, zone)}</span>
          </span>
          <span className="strip-took" />
        </div>
      </div>
      <ul className="strip-legend" aria-hidden="true">
        {LEGEND.filter(([kind]) => seen.has(kind)).map(([kind, text]) => (
          <li key={kind}>
            <i className={kind === 'tick' ? 'tick' : `piece ${kind}`} />
            {t(text)}
          </li>
        ))}
        {strip.now !== undefined && (
          <li>
            <i className="strip-now" />
            {t('Now')}
          </li>
        )}
      </ul>
    </div>
  )
}

function LaneRow({ lane, strip }: { lane: Lane; strip: StripOf }) {
  const { id, type, pieces, ticks, isAhead, isReused, isOpen } = lane
  const left = (at: number) => `${placeOf(strip, at)}%`
  return (
    <div className={isAhead ? 'strip-lane ahead' : 'strip-lane'}>
      <span className="strip-name" title={id}>
        <Icon name={iconOf(type)} size={13} />
        <bdi>{id}</bdi>
      </span>
      <span className="strip-track">
        {pieces.map(({ kind, from, to }) => (
          <i
            key={`${kind} ${from}`}
            className={`piece ${kind}`}
            style={{ left: left(from), width: `max(4px, ${placeOf(strip, to) - placeOf(strip, from)}%)` }}
          />
        ))}
        {isOpen && <i className="piece ahead open" />}
        {ticks.map(({ at, isBad, text }) => (
          <i key={at} className={isBad ? 'tick bad' : 'tick'} style={{ left: left(at) }} title={text || undefined} />
        ))}
        {strip.now !== undefined && <i className="strip-now" style={{ left: left(strip.now) }} />}
      </span>
      <span className="strip-took">{tookOf(lane) ?? (isReused ? t('taken over') : isOpen ? t('time open') : '')}</span>
    </div>
  )
}

/** How long a step took, or takes. */
function tookOf({ pieces, isAhead }: Lane): string | undefined {
  const first = pieces[0]
  const last = pieces.at(-1)
  if (!first || !last || (isAhead && last.to === first.from)) return undefined
  if (first.kind === 'retry') return t('{span} so far', { span: tookText(first.to - first.from) })
  return tookText(last.to - first.from)
}
