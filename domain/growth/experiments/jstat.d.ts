// The two functions of jstat that are used; it brings no types.
declare module 'jstat' {
  const jStat: {
    /** Regularised incomplete beta function. */
    ibeta(x: number, a: number, b: number): number
    normal: { cdf(x: number, mean: number, deviation: number): number }
  }
  export default jStat
}
