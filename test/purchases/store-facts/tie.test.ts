import { expect, test } from 'vitest'
import { tied } from '../../../domain/purchases/store-facts/order.ts'
import { paid, period, renewal } from './stories.ts'

// The table of statements keeps the tie: with another one a statement that is reported again would be stored twice.
test('the tie of a statement is the one that earlier versions have stored', () => {
  expect(tied(period(0, 't1', paid(0, 30))).tie).toBe('1549869c681031ee38fc045f0c75216b4be0ffc95')
  expect(tied(renewal(10, 't1', { autoRenews: false }, 'caller')).tie).toBe('0fdbd6c282d8c26ff02e981064a1d124bced55681')
})
