import { DAY, type Rate } from '../../oracle/history.ts'
import { dayOf } from '../../oracle/rates.ts'

/** Rates before, within and after the time that histories fill; francs have none. */
export function ratesBefore(now: number): Rate[] {
  const ago = (days: number) => dayOf(now - days * DAY)
  return [
    { currency: 'EUR', date: ago(700), usdPerUnit: '1.0512' },
    { currency: 'EUR', date: ago(300), usdPerUnit: '1.1' },
    { currency: 'EUR', date: ago(31), usdPerUnit: '1.084345' },
    { currency: 'TRY', date: ago(400), usdPerUnit: '0.03123456789' },
    { currency: 'TRY', date: ago(200), usdPerUnit: '0.0241' },
    { currency: 'TRY', date: ago(20), usdPerUnit: '0.02' },
  ]
}
