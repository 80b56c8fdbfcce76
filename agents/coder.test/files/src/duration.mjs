/**
 * A number of whole seconds as people say it: the two largest parts that count, such as `1 h 5 min`, `2 min 3 s`, `2 d`
 * or `59 s`. A part that is zero is left out, and what is smaller than the second part is dropped. Nothing is `0 s`.
 */
export function duration(seconds) {
  const minutes = Math.floor(seconds / 60)
  const rest = seconds % 60
  if (minutes === 0) return `${rest} s`
  return rest === 0 ? `${minutes} min` : `${minutes} min ${rest} s`
}
