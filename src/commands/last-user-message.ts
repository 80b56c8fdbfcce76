import type { App } from '../api/app.ts'

/** Max turns that are looked through for words of a person. */
const searchedTurns = 20
/** Turns that were started by agents begin with their results, which the user would not recognise. */
const byAgents = /^(?:\[agent_result:|\[Subagent: |all started agents have ended|plan:\d)/

/** The last message of a person in a session, not a result of agents; undefined in a new session. */
export async function findLastUserMessage(
  app: Pick<App, 'log'>,
  folder: string,
  session: string,
): Promise<string | undefined> {
  const turns = await app.log(folder, { of: session, limit: searchedTurns })
  return (turns.findLast(({ preview }) => !byAgents.test(preview)) ?? turns.at(-1))?.preview
}
