/** The platforms of events, users and customers, as the API names them. */
export const PLATFORMS = ['iOS', 'Android', 'Stripe', 'Paddle'] as const
export type Platform = (typeof PLATFORMS)[number]
