/** The platforms of events, users and customers, in the words of the API. */
export const PLATFORMS = ['iOS', 'Android', 'Stripe', 'Paddle'] as const
export type Platform = (typeof PLATFORMS)[number]
