import type { Screen } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { Card, Pairs } from '../../parts/card.tsx'
import { Choice } from '../../parts/choice.tsx'
import { Empty } from '../../parts/empty.tsx'
import { t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'
import { markupIn } from './markup.ts'
import { Source } from './source.tsx'

/** What of a screen is its layout. Its keys are none of it. */
export const layoutOf = ({ background, default_lang, configs, content, used }: Screen) => ({
  ...{ background, default_lang, used, configs, content },
})

/** What the screen holds, as text: nothing of it is ever drawn or run here. */
export function Holds({ screen }: { screen: Screen }) {
  const [search, set] = useAddress()
  const markup = markupIn(screen.content)
  const isMarkup = search.source === 'html' && markup.length > 0
  const isEmpty = Object.keys(screen.content).length === 0 && Object.keys(screen.configs).length === 0
  return (
    <Card
      title={t('What it holds')}
      right={
        markup.length > 0 && (
          <Choice
            name={t('Source')}
            value={isMarkup ? 'html' : 'json'}
            options={[
              ['json', 'JSON'],
              ['html', 'HTML'],
            ]}
            onChange={source => set({ source: source === 'json' ? undefined : source })}
          />
        )
      }
    >
      <Pairs
        rows={[
          [t('Context'), screen.context_key === null ? undefined : <code key="context">{screen.context_key}</code>],
          [
            t('Background'),
            <span key="background" className="screen-colour">
              <i style={{ backgroundColor: screen.background }} aria-hidden="true" />
              <code>{screen.background}</code>
            </span>,
          ],
          [t('Language where there is none for somebody'), <code key="language">{screen.default_lang}</code>],
          [
            t('Products on it'),
            screen.used.length === 0 ? (
              t('none')
            ) : (
              <span key="products" className="screen-products">
                {screen.used.map(id => (
                  <code key={id}>{id}</code>
                ))}
              </span>
            ),
          ],
          [t('Made'), <Time key="made" at={screen.created_at} />],
          [t('Changed'), <Time key="changed" at={screen.updated_at} />],
        ]}
      />
      {isEmpty ? (
        <Empty
          icon="screen"
          title={t('It has no layout yet')}
          why={
            <>
              {t('An editor of screens makes one. A file that has this id brings it in:')}{' '}
              <code>npm run cli -- screens import FILE.json</code>
            </>
          }
        />
      ) : isMarkup ? (
        markup.map(({ path, text }) => (
          <section key={path} aria-label={path}>
            <h3 className="screen-part">
              <code>{path}</code>
            </h3>
            <Source text={text} kind="html" />
          </section>
        ))
      ) : (
        <Source text={JSON.stringify(layoutOf(screen), undefined, 2)} kind="json" />
      )}
    </Card>
  )
}
