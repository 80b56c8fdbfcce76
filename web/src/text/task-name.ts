/** A task as people call it: by its place in the plan. One that the plan has dropped has only its reference. */
export function taskName({ id, number }: { id: number; number?: number }): string {
  return number === undefined ? `task:${id}` : `task ${number}`
}

/** A text of Heddle's own about tasks of one plan, which names them by reference, with their places instead. */
export function withTaskNames(text: string, tasks: readonly { id: number; number?: number }[]): string {
  return text.replace(/\btask:(\d+)\b/g, (whole, id) => {
    const task = tasks.find((each) => each.id === Number(id))
    return task ? taskName(task) : whole
  })
}
