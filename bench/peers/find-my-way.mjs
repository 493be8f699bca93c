import findMyWay from 'find-my-way'

/** An empty radix tree. Untyped, so that the type check does not need the packages of the peers. */
export const searchTree = () => findMyWay({ maxParamLength: 16_384 })
