import { statement } from './statement.ts'
import type { Reading, Tx } from './store.ts'

/** A passage that a run was shown, and where it stood then. */
export interface ShownPassage {
  passageId: number
  path: string
  line: number
  rank: number
  /** Words that made it fit. */
  words: string[]
}

/** Notes what a run was shown of the files in the home. */
export async function notePassages(tx: Tx, runId: string, shown: readonly ShownPassage[]): Promise<void> {
  for (const { words, ...passage } of shown) await tx.run(insert({ runId, ...passage, words: words.join(' ') }))
}

/** What a run was shown of them, best first. */
export async function passagesShown(rows: Reading, runId: string): Promise<ShownPassage[]> {
  const found = await rows.all(
    rows.build.selectFrom('passage_recalls').selectAll().where('run_id', '=', runId).orderBy('rank', 'desc'),
  )
  return found.map(({ passage_id, path, line, rank, words }) => ({
    passageId: passage_id,
    path,
    line,
    rank,
    words: words.split(' '),
  }))
}

const insert = statement(
  (db, arg: { runId: string; passageId: number; path: string; line: number; rank: number; words: string }) =>
    db
      .insertInto('passage_recalls')
      .values({
        run_id: arg.runId,
        passage_id: arg.passageId,
        path: arg.path,
        line: arg.line,
        rank: arg.rank,
        words: arg.words,
      })
      .onConflict((taken) => taken.columns(['run_id', 'passage_id']).doNothing()),
)
