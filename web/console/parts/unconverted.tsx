import type { AnalyticsUnconverted } from '../../../clients/typescript/src/index.ts'
import { figure } from './format.ts'
import { Icon } from './icon.tsx'
import { counted, t } from './t.ts'

/** Amounts that are in no sum, since no rate of exchange is known. */
export function Unconverted({ money }: { money: AnalyticsUnconverted | undefined }) {
  if (money === undefined || money.length === 0) return null
  return (
    <div className="notice warn" role="status">
      <Icon name="warn" />
      <div>
        <b>{t('Not in the money:')}</b>{' '}
        {money
          .map(({ currency, transactions, amount, refunds, refunded_amount }) =>
            [
              `${amountOf(amount, currency)} ${counted(transactions, 'of {n} transaction', 'of {n} transactions')}`,
              refunds ? `${amountOf(refunded_amount ?? 0, currency)} ${counted(refunds, 'of {n} refund', 'of {n} refunds')}` : '',
            ]
              .filter(Boolean)
              .join(', '),
          )
          .join('; ')}
        {'. '}
        {t('There is no rate of exchange for these days. Numbers of transactions have them.')}{' '}
        <a className="link" href="/docs/operating#rates-of-exchange" target="_blank" rel="noreferrer">
          {t('How rates are loaded')}
        </a>
      </div>
    </div>
  )
}

function amountOf(amount: number, currency: string): string {
  try {
    return figure(amount, 'usd', currency)
  } catch {
    return `${amount} ${currency}`
  }
}
