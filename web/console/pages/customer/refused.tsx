import type { PurchaseAttempt } from '../../../../clients/typescript/src/index.ts'
import { usePages } from '../../data/read.ts'
import { Card } from '../../parts/card.tsx'
import { Dotted } from '../../parts/dotted.tsx'
import { Icon } from '../../parts/icon.tsx'
import { counted, plain, t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'
import { attemptReason } from './reasons.ts'

const FIRST = 5

/** Claims of purchases that were refused, and why. Where there are none, nothing is said. */
export function Refused({ id }: { id: string }) {
  const read = usePages('v4ListUserPurchaseAttempts', { path: { user_id: id }, query: { limit: FIRST } }, { every: 60_000 })
  if (!read.data?.length) return null
  return (
    <Card title={t('Refused purchases')} flush>
      <ul className="line live">
        {read.data.map(attempt => (
          <Attempt key={attempt.id} attempt={attempt} />
        ))}
      </ul>
      {read.hasNextPage && (
        <div className="customer-more">
          <button type="button" className="chip" disabled={read.isFetchingNextPage} onClick={read.more}>
            {t('More')}
          </button>
        </div>
      )}
    </Card>
  )
}

export function Attempt({ attempt }: { attempt: PurchaseAttempt }) {
  const { reason, store_answer, times, platform, product_id, transaction_id, last_at } = attempt
  return (
    <li>
      <span className="node warn">
        <Icon name="tag" size={13} />
      </span>
      <div>
        <span className="line-title">{attemptReason(reason)}</span>
        <div className="line-more">
          <Dotted of={[platform && plain(platform), product_id, transaction_id]} />
          {times > 1 && <> · {counted(times, '{n} time', '{n} times')}</>}
        </div>
        {store_answer && (
          <div className="line-more">
            {t('The store said')} <code>{store_answer.code}</code> {store_answer.message}
          </div>
        )}
      </div>
      <div className="line-when">
        <Time at={last_at} relative />
      </div>
    </li>
  )
}
