import { usePlace } from '../../data/place.ts'
import { useDenied } from '../../data/session.ts'
import { Act } from '../../parts/act.tsx'
import { Card } from '../../parts/card.tsx'
import { Fault } from '../../parts/fault.tsx'
import { Icon } from '../../parts/icon.tsx'
import { counted, t } from '../../parts/t.ts'
import { To } from '../../parts/to.tsx'
import { type Loading, useSample } from './sample.ts'

/** The months of its orders, in Unix seconds: January 1997 to June 1998. */
const RANGE = { from: String(Date.UTC(1997, 0, 1) / 1_000), to: String(Date.UTC(1998, 6, 1) / 1_000), tz: 'UTC' }

const PLACES = [
  { to: '/charts/sales', search: { ...RANGE, unit: 'month' }, text: 'Sales by month' },
  { to: '/cohorts', search: RANGE, text: 'Who came back' },
  { to: '/customers', search: {}, text: 'The customers' },
] as const

/** Orders to look at: a thousand of CDNOW. */
export default function SampleCard() {
  const denied = useDenied('editor', usePlace()?.project)
  const { loading, load } = useSample()
  const busy = loading?.state === 'loads'
  return (
    <Card title={t('Data to look at')} className="sample">
      <p>
        {t(
          'The first thousand orders of CDNOW, a shop of music, from January 1997 to June 1998, as its customers placed them. They keep their dates, start no automation and go to no integration.',
        )}
      </p>
      <p className="soft">{t('Loaded twice, each order is there once. A new beginning of the sandbox removes them.')}</p>
      <Act size="xs" leftSection={<Icon name="download" size={14} />} loading={busy} denied={denied} onClick={() => void load()}>
        {t('Load the CDNOW sample')}
      </Act>
      {loading && <Progress loading={loading} again={() => void load()} />}
      {loading?.state === 'done' && (
        <ul className="sample-places" aria-label={t('Where to look')}>
          {PLACES.map(({ to, search, text }) => (
            <li key={to}>
              <To to={to} search={search} className="chip">
                {t(text)}
                <Icon name="next" size={13} />
              </To>
            </li>
          ))}
        </ul>
      )}
      <p className="sample-source soft">{t('Published for research by Bruce Hardie and Peter Fader.')}</p>
    </Card>
  )
}

function Progress({ loading, again }: { loading: Loading; again: () => void }) {
  const { all, stored, known, state } = loading
  if (state === 'failed') return <Fault error={loading.error} retry={again} />
  const done = stored + known
  return (
    <div className="sample-progress" role="status">
      {state === 'loads' && <progress value={done} max={all} aria-label={t('Orders that are loaded')} />}
      <p>
        {state === 'loads'
          ? t('{done} of {all} orders', { done, all })
          : stored === 0
            ? counted(known, '{n} order was there already.', 'All {n} orders were there already.')
            : counted(stored, '{n} order is loaded.', '{n} orders are loaded.')}
      </p>
    </div>
  )
}
