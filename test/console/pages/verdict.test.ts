// What a page says about a group of an experiment: no more than the service is sure of.
import { expect, test } from 'vitest'
import { verdictOf } from '../../../web/console/pages/experiment/verdict.ts'

const group = { is_control: false, users: 100, p_value: 0.2, is_significant: false, recommended_sample_size: 500 }

test('a difference is significant or it is not; none has won', () => {
  expect(verdictOf({ ...group, is_control: true }).says).toBe('')
  expect(verdictOf({ ...group, p_value: null, is_significant: null }).says).toBe('Too few people yet')
  expect(verdictOf(group)).toMatchObject({ says: 'Too few people yet', more: expect.stringContaining('500') })
  expect(verdictOf({ ...group, users: 600 }).says).toBe('No difference shown')
  expect(verdictOf({ ...group, recommended_sample_size: null }).says).toBe('No difference')
  expect(verdictOf({ ...group, p_value: 0.00001, is_significant: true, recommended_sample_size: null })).toMatchObject({
    says: 'Significant',
    tone: 'info',
    more: 'p < 0.0001, below 0.05',
  })
})
