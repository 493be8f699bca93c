import { lazy, Suspense, useState } from 'react'
import type { UnmappedProduct } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { usePages } from '../../data/read.ts'
import { Act } from '../../parts/act.tsx'
import { Fault } from '../../parts/fault.tsx'
import { Icon } from '../../parts/icon.tsx'
import { counted, t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'
import { linkOf, platformText, storeName } from './words.ts'

const Link = lazy(() => import('./link.tsx'))

/** What is sold in the stores and unknown here, with a way to make it known. Nothing where all is known. */
export function Unmapped({ denied }: { denied: string | undefined }) {
  const [, set] = useAddress()
  const read = usePages('v4ListUnmappedProducts', { query: { limit: 20 } }, { every: 120_000 })
  const [linking, setLinking] = useState<UnmappedProduct>()
  if (read.isError && read.data === undefined) return <Fault error={read.error} retry={read.refetch} />
  const rows = read.data ?? []
  if (rows.length === 0 && !read.hasNextPage) return null
  return (
    <section className="unmapped" aria-labelledby="unmapped-title">
      <div className="unmapped-head">
        <Icon name="warn" size={18} />
        <div>
          <h2 id="unmapped-title">
            {read.hasNextPage
              ? t('Stores sell products that are unknown here')
              : counted(
                  rows.length,
                  'The stores sell {n} product that is unknown here',
                  'The stores sell {n} products that are unknown here',
                )}
          </h2>
          <p>
            {t(
              'Their purchases are recorded, and give nobody access until a product links them. From then on they count for it, the earlier ones too.',
            )}
          </p>
        </div>
      </div>
      <ul>
        {rows.map(one => (
          <li key={one.id}>
            <div className="unmapped-what">
              <span className="unmapped-id">
                <code title={storeName(one)}>{storeName(one)}</code>
              </span>
              <span>
                {platformText(one.platform)} · {purchasesText(one)} · {t('last')} <Time at={one.last_seen_at} relative /> · {t('first')}{' '}
                <Time at={one.first_seen_at} />
              </span>
            </div>
            {linkOf(one) !== undefined && (
              <div className="unmapped-acts">
                <Act denied={denied} size="xs" variant="default" onClick={() => set({ at: 'new', from: one.id }, { push: true })}>
                  {t('Make a product')}
                </Act>
                <Act denied={denied} size="xs" variant="default" onClick={() => setLinking(one)}>
                  {t('Link to …')}
                </Act>
              </div>
            )}
          </li>
        ))}
      </ul>
      {read.hasNextPage && (
        <button type="button" className="chip" disabled={read.isFetchingNextPage} onClick={read.more}>
          {t('More')}
        </button>
      )}
      {linking && (
        <Suspense fallback={null}>
          <Link of={linking} onClose={() => setLinking(undefined)} />
        </Suspense>
      )}
    </section>
  )
}

function purchasesText({ purchases, users, has_more }: UnmappedProduct): string {
  if (has_more) return t('over {n} purchases', { n: purchases.toLocaleString('en') })
  const bought = counted(purchases, '{n} purchase', '{n} purchases')
  return users === 0 ? bought : t('{bought} of {people}', { bought, people: counted(users, '{n} person', '{n} people') })
}
