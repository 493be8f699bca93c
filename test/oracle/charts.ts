import { userPasses } from './attributes.ts'
import { exact, ONE } from './exact.ts'
import { amounts, cancelledRuns, counted, endedRuns, type Fact, proceeds, refunds, taking } from './facts.ts'
import { refundedBy } from './proceeds.ts'
import { activeUsers, type Chart, flow, payingUsers, perUser, transactionShare, userShare } from './series.ts'
import { mrrMovement, mrrStock, stockIn, stockInGrace } from './stocks.ts'
import { type Charged, conversionOf, isCancelled, isNew, isPaid } from './world.ts'

const negative = (facts: Fact[]): Fact[] => facts.map(taking)
const of =
  (...kinds: Charged['kind'][]) =>
  (one: Charged) =>
    kinds.includes(one.kind)

const usdFlow = { measure: 'usd', relation: 'partsOfWhole' } as const
const countFlow = { measure: 'count', relation: 'partsOfWhole' } as const
const movement = { measure: 'count', relation: 'independent' } as const
const percent = { measure: 'percent', relation: 'independent' } as const
const TWELVE = exact(12)

const userToTrial: Chart = { ...percent, ofUsers: true, series: userShare('Share of users who have begun a trial', of('trial')) }
const cancellation: Chart = { ...percent, series: transactionShare('Cancellation rate', isNew, isCancelled) }

export const CHARTS: Record<string, Chart> = {
  sales: {
    ...usdFlow,
    series: (world, question) => [
      flow('Sales after refunds', [...amounts(world, question), ...negative(refunds(world, question))]),
      flow('Refunds', refunds(world, question)),
    ],
  },
  proceeds: { ...usdFlow, series: (world, question) => [flow('Proceeds', proceeds(world, question))] },
  refunds: { ...usdFlow, series: (world, question) => [flow('Refunds', refunds(world, question))] },
  'refund-rate': {
    ...percent,
    series: transactionShare('Refund rate', isPaid, (world, one) => refundedBy(one.transaction, world.history.now).length > 0),
  },
  arpu: { measure: 'usd', relation: 'independent', series: perUser('ARPU', activeUsers) },
  arppu: { measure: 'usd', relation: 'independent', series: perUser('ARPPU', payingUsers) },
  mrr: { ...usdFlow, series: mrrStock('MRR', ONE) },
  arr: { ...usdFlow, series: mrrStock('ARR', TWELVE) },
  'mrr-movement': { measure: 'usd', relation: 'independent', series: mrrMovement(ONE) },
  'arr-movement': { measure: 'usd', relation: 'independent', series: mrrMovement(TWELVE) },
  'active-subscriptions': {
    ...countFlow,
    series: (world, question) => [...stockIn('paid')(world, question), ...stockInGrace(world, question)],
  },
  'new-subscriptions': {
    ...countFlow,
    series: (world, { filters }) => [
      flow('Started', counted(world, filters, of('start'))),
      flow('Converted', counted(world, filters, of('conversion'))),
    ],
  },
  'paid-subscriptions-movement': {
    ...movement,
    series: (world, { filters }) => [
      flow('New', counted(world, filters, isNew)),
      flow('Churned', negative(endedRuns(world, filters, true))),
    ],
  },
  'subscriptions-overview': {
    ...movement,
    series: (world, { filters }) => [
      flow('New', counted(world, filters, isNew)),
      flow('Renewed', counted(world, filters, of('renewal'))),
      flow('Canceled', cancelledRuns(world, filters)),
      flow('Expired', endedRuns(world, filters, true)),
    ],
  },
  'subscription-cancellation': cancellation,
  'subscription-cancellation-rate': cancellation,
  'free-trials': { ...countFlow, series: (world, { filters }) => [flow('Trials', counted(world, filters, of('trial')))] },
  'active-trials': { ...countFlow, series: stockIn('trial') },
  'trials-movement': {
    ...movement,
    series: (world, { filters }) => [
      flow('Started', counted(world, filters, of('trial'))),
      flow('Expired', negative(endedRuns(world, filters, false))),
    ],
  },
  'trial-cancellation': { ...percent, series: transactionShare('Trial cancellation rate', of('trial'), isCancelled) },
  'trial-to-paid': {
    ...percent,
    series: transactionShare('Trial conversion', of('trial'), (world, one) => {
      const conversion = conversionOf(world, one)
      return conversion !== undefined && conversion.transaction.at <= world.history.now
    }),
  },
  'users-overview': {
    ...countFlow,
    ofUsers: true,
    series: (world, { filters }) => {
      const passes = userPasses(world.history, filters)
      const users = world.history.users.filter(user => passes(user.id) && user.createdAt <= world.history.now)
      return [
        flow(
          'New users',
          users.map(user => ({ at: user.createdAt, value: ONE })),
        ),
      ]
    },
  },
  'user-to-trial': userToTrial,
  'user-to-trial-conversion': userToTrial,
  'user-to-paid': {
    ...percent,
    ofUsers: true,
    series: userShare('Share of users who have paid', of('start', 'conversion', 'one-time')),
  },
}
