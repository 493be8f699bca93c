import { CHARTS, titleOfChart } from '../../data/charts.ts'
import { Icon } from '../../parts/icon.tsx'
import { t } from '../../parts/t.ts'
import { MOST_TILES, usePins } from './pins.ts'

/** The figures that are shown, in their order, and those that may be. */
export default function TilesList() {
  const { pinned, isUsual, toggle, earlier, reset } = usePins()
  const full = pinned.length >= MOST_TILES
  return (
    <>
      <div className="tiles-menu-title">{t('Shown, in this order')}</div>
      <ol>
        {pinned.map((code, at) => (
          <li key={code}>
            <span>{titleOfChart(code)}</span>
            <button
              type="button"
              className="icon-button"
              disabled={at === 0}
              aria-label={t('{title} one place earlier', { title: titleOfChart(code) })}
              onClick={() => earlier(code)}
            >
              <Icon name="up" size={14} />
            </button>
            <button
              type="button"
              className="icon-button"
              disabled={pinned.length === 1}
              aria-label={t('Take {title} away', { title: titleOfChart(code) })}
              onClick={() => toggle(code)}
            >
              <Icon name="close" size={14} />
            </button>
          </li>
        ))}
      </ol>
      {!isUsual && (
        <button type="button" className="chip small" onClick={reset}>
          {t('Back to the usual ones')}
        </button>
      )}
      {CHARTS.map(({ group, charts }) => (
        <div key={group}>
          <div className="tiles-menu-title">{t(group)}</div>
          <div className="tiles-menu-more">
            {charts
              .filter(({ code }) => !pinned.includes(code))
              .map(({ code, title }) => (
                <button
                  key={code}
                  type="button"
                  className="chip small"
                  disabled={full}
                  aria-label={t('Show {title}', { title })}
                  onClick={() => toggle(code)}
                >
                  + {title}
                </button>
              ))}
          </div>
        </div>
      ))}
      {full && <p className="soft">{t('There is room for {n} figures.', { n: MOST_TILES })}</p>}
    </>
  )
}
