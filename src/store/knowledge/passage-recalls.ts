import { statement } from '../statement.ts'
import type { Reading, Tx } from '../store.ts'

/** A passage that was put into the prompt of a run, with its position at that time. */
export interface PassageRecall {
  passageId: number
  path: string
  line: number
  rank: number
  /** Words that matched. */
  words: string[]
}

/** Records the passages that a run was given. */
export async function recordPassageRecalls(tx: Tx, runId: string, recalls: readonly PassageRecall[]): Promise<void> {
  for (const { words, ...passage } of recalls) await tx.run(insert({ runId, ...passage, words: words.join(' ') }))
}

/** Passages that a run was given, best first. */
export async function passageRecallsIn(rows: Reading, runId: string): Promise<PassageRecall[]> {
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
