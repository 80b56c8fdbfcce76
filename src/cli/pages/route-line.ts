import type { SubmitResult } from '../../api/views/question.ts'
import { printable } from '../terminal/screen.ts'

/** Says which agent answers, if the words of a message chose it. */
export function routeLine({ agent, why }: NonNullable<SubmitResult['routedTo']>): string {
  return `@${printable(agent)} answers: ${printable(why)}    agent.routing`
}
