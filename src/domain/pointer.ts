/** Matches a pointer to a result, `[agent_result:12]`, and captures its id. */
export const resultPointer = /\[agent_result:(\d{1,15})\]/g

/** Ids of the results that a text points to, each once. */
export function pointersIn(text: string): number[] {
  return [...new Set([...text.matchAll(resultPointer)].map(([, id]) => Number(id)))]
}
