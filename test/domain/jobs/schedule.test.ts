import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  checkActiveHours,
  checkSchedule,
  latestTime,
  nextTime,
  nextTimes,
  type Schedule,
  type Timetable,
} from '../../../src/domain/jobs/schedule.ts'
import { momentFromIso, scheduleFromWords } from '../../../src/domain/jobs/schedule-words.ts'

const at = (iso: string) => Date.parse(iso)
const shown = (times: readonly number[]) => times.map((time) => new Date(time).toISOString().replace(':00.000Z', 'Z'))

function cronTimes(expression: string, timezone: string, from: string, count: number): string[] {
  return shown(nextTimes({ schedule: { kind: 'cron', expression, timezone }, startsAt: 0 }, at(from), count))
}

describe('the next time of a schedule', () => {
  test('of a fixed time that the clock skips is the end of the gap, once', () => {
    expect(cronTimes('30 2 * * *', 'America/New_York', '2026-03-07T12:00Z', 2)).toEqual([
      '2026-03-08T07:00Z',
      '2026-03-09T06:30Z',
    ])
    expect(cronTimes('30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00Z', 2)).toEqual([
      '2026-03-29T01:00Z',
      '2026-03-30T00:30Z',
    ])
    // Half an hour is skipped.
    expect(cronTimes('15 2 * * *', 'Australia/Lord_Howe', '2026-10-03T00:00Z', 2)).toEqual([
      '2026-10-03T15:30Z',
      '2026-10-04T15:15Z',
    ])
  })

  test('leaves out a day on which all times of a pattern are skipped', () => {
    expect(cronTimes('*/15 2 * * *', 'America/New_York', '2026-03-08T05:30Z', 2)).toEqual([
      '2026-03-09T06:00Z',
      '2026-03-09T06:15Z',
    ])
  })

  test('of a fixed time in a repeated hour is the first of the two', () => {
    expect(cronTimes('30 1 * * *', 'America/New_York', '2026-10-31T12:00Z', 2)).toEqual([
      '2026-11-01T05:30Z',
      '2026-11-02T06:30Z',
    ])
    expect(cronTimes('30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00Z', 2)).toEqual([
      '2026-10-25T00:30Z',
      '2026-10-26T01:30Z',
    ])
    expect(cronTimes('45 1 * * *', 'Australia/Lord_Howe', '2026-04-04T00:00Z', 2)).toEqual([
      '2026-04-04T14:45Z',
      '2026-04-05T15:15Z',
    ])
  })

  test('of a pattern in a repeated hour is in both', () => {
    expect(cronTimes('*/30 1 * * *', 'America/New_York', '2026-11-01T03:00Z', 5)).toEqual([
      ...['2026-11-01T05:00Z', '2026-11-01T05:30Z', '2026-11-01T06:00Z', '2026-11-01T06:30Z', '2026-11-02T06:00Z'],
    ])
    expect(cronTimes('*/15 1-2 * * *', 'Australia/Lord_Howe', '2026-04-04T13:50Z', 10)).toEqual([
      ...['2026-04-04T14:00Z', '2026-04-04T14:15Z', '2026-04-04T14:30Z', '2026-04-04T14:45Z', '2026-04-04T15:00Z'],
      ...['2026-04-04T15:15Z', '2026-04-04T15:30Z', '2026-04-04T15:45Z', '2026-04-04T16:00Z', '2026-04-04T16:15Z'],
    ])
  })

  test('is each real hour for an hourly job, through both changes of the clock', () => {
    expect(cronTimes('0 * * * *', 'America/New_York', '2026-03-08T05:30Z', 3)).toEqual([
      ...['2026-03-08T06:00Z', '2026-03-08T07:00Z', '2026-03-08T08:00Z'],
    ])
    expect(cronTimes('30 * * * *', 'America/New_York', '2026-11-01T04:00Z', 4)).toEqual([
      ...['2026-11-01T04:30Z', '2026-11-01T05:30Z', '2026-11-01T06:30Z', '2026-11-01T07:30Z'],
    ])
  })

  test('is not on the day that Samoa never had', () => {
    expect(cronTimes('0 12 * * *', 'Pacific/Apia', '2011-12-29T00:00Z', 3)).toEqual([
      '2011-12-29T22:00Z',
      '2011-12-30T22:00Z',
      '2011-12-31T22:00Z',
    ])
  })

  test('of an interval counts from its start, whatever was missed', () => {
    const timetable: Timetable = { schedule: { kind: 'every', every: 20_000 }, startsAt: 1000 }
    expect(nextTimes(timetable, 0, 2)).toEqual([21_000, 41_000])
    expect(nextTime(timetable, 41_000)).toBe(61_000)
    expect(nextTime(timetable, 10_000_000)).toBe(10_001_000)
  })

  test('of a single moment is that moment, and then none', () => {
    const timetable: Timetable = { schedule: { kind: 'at', at: 5000 }, startsAt: 0 }
    expect([nextTime(timetable, 4999), nextTime(timetable, 5000)]).toEqual([5000, undefined])
  })

  test('lies within the active hours, also over midnight', () => {
    const beat = (from: string, to: string): Timetable => ({
      schedule: { kind: 'every', every: 3 * 3_600_000 },
      startsAt: at('2026-06-01T00:00Z'),
      activeHours: { from, to, timezone: 'Europe/Berlin' },
    })
    expect(shown(nextTimes(beat('08:00', '18:00'), at('2026-06-01T00:00Z'), 4))).toEqual([
      ...['2026-06-01T06:00Z', '2026-06-01T09:00Z', '2026-06-01T12:00Z', '2026-06-01T15:00Z'],
    ])
    expect(shown(nextTimes(beat('08:00', '18:00'), at('2026-06-01T15:00Z'), 1))).toEqual(['2026-06-02T06:00Z'])
    expect(shown(nextTimes(beat('22:00', '06:00'), at('2026-06-01T09:00Z'), 3))).toEqual([
      ...['2026-06-01T21:00Z', '2026-06-02T00:00Z', '2026-06-02T03:00Z'],
    ])
    const never = { ...beat('08:00', '18:00'), schedule: { kind: 'cron', expression: '0 3 * * *', timezone: 'UTC' } }
    expect(nextTime({ ...never, activeHours: { from: '08:00', to: '18:00', timezone: 'UTC' } } as Timetable, 0)).toBe(
      undefined,
    )
  })

  test('always lies after the moment that was asked about, and rises', () => {
    const zones = ['UTC', 'America/New_York', 'Europe/Berlin', 'Australia/Lord_Howe', 'Pacific/Apia']
    const expressions = ['*/7 * * * *', '30 2 * * *', '0 */5 * * *', '15 1-3 * * 0', '0 0 29 2 *', '0 0 13 * 5']
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        fc.constantFrom(...expressions),
        fc.integer({ min: at('2009-01-01T00:00Z'), max: at('2036-01-01T00:00Z') }),
        (timezone, expression, from) => {
          const times = nextTimes({ schedule: { kind: 'cron', expression, timezone }, startsAt: 0 }, from, 6)
          expect([from, ...times]).toEqual([...new Set([from, ...times])].sort((a, b) => a - b))
        },
      ),
      { numRuns: 60 },
    )
  })
})

describe('the latest missed time', () => {
  const all = (timetable: Timetable, after: number, until: number) => {
    const times: number[] = []
    for (let time = nextTime(timetable, after); time !== undefined && time <= until; time = nextTime(timetable, time))
      times.push(time)
    return times
  }

  test('is the last of all times in the span', () => {
    const schedules: Schedule[] = [
      { kind: 'every', every: 60_000 },
      { kind: 'cron', expression: '*/20 1-3 * * *', timezone: 'America/New_York' },
      { kind: 'cron', expression: '30 2 * * 0', timezone: 'Europe/Berlin' },
      { kind: 'at', at: at('2026-03-08T06:00Z') },
    ]
    fc.assert(
      fc.property(
        fc.constantFrom(...schedules),
        fc.integer({ min: 0, max: 48 * 3600 }),
        fc.integer({ min: 0, max: 72 * 3600 }),
        (schedule, offset, length) => {
          const after = at('2026-03-07T00:00Z') + offset * 1000
          const timetable = { schedule, startsAt: at('2026-01-01T00:00Z') }
          expect(latestTime(timetable, after, after + length * 1000)).toBe(
            all(timetable, after, after + length * 1000).at(-1),
          )
        },
      ),
      { numRuns: 40 },
    )
  })

  test('of a job each second is found in a gap of ten years', () => {
    const timetable: Timetable = { schedule: { kind: 'every', every: 1000 }, startsAt: 0 }
    expect(latestTime(timetable, 0, at('2036-01-01T00:00Z'))).toBe(at('2036-01-01T00:00Z'))
  })
})

describe('a schedule is refused', () => {
  test.each([
    ['six fields', { kind: 'cron', expression: '0 0 * * * *', timezone: 'UTC' }],
    ['a word of croner', { kind: 'cron', expression: '@daily', timezone: 'UTC' }],
    ['a minute that no hour has', { kind: 'cron', expression: '60 * * * *', timezone: 'UTC' }],
    ['a date that no year has', { kind: 'cron', expression: '0 0 31 2 *', timezone: 'UTC' }],
    ['an unknown zone', { kind: 'cron', expression: '0 0 * * *', timezone: 'Mars/Base' }],
    ['no interval', { kind: 'every', every: 0 }],
    ['a fraction of a second', { kind: 'every', every: 500 }],
    ['no moment', { kind: 'at', at: Number.NaN }],
    ['no name', { kind: 'event', name: 'a b' }],
  ] as [string, Schedule][])('for %s', (_, schedule) => {
    expect(() => checkSchedule(schedule)).toThrow(expect.objectContaining({ code: 'bad_schedule' }))
  })

  test('for active hours that are no hours', () => {
    const refused = expect.objectContaining({ code: 'bad_schedule' })
    expect(() => checkActiveHours({ from: '8', to: '22:00', timezone: 'UTC' })).toThrow(refused)
    expect(() => checkActiveHours({ from: '08:00', to: '08:00', timezone: 'UTC' })).toThrow(refused)
  })
})

describe('a time in words', () => {
  // A Tuesday, 15:00 in Berlin.
  const spoken = { now: at('2026-11-17T14:00Z'), timezone: 'Europe/Berlin' }
  const moment = (iso: string): Schedule => ({ kind: 'at', at: at(iso) })
  const cron = (expression: string): Schedule => ({ kind: 'cron', expression, timezone: 'Europe/Berlin' })

  test.each([
    ['in 20 min', moment('2026-11-17T14:20Z')],
    ['in 2h', moment('2026-11-17T16:00Z')],
    ['at 18:00', moment('2026-11-17T17:00Z')],
    ['at 09:30', moment('2026-11-18T08:30Z')],
    ['at 18:00 today', moment('2026-11-17T17:00Z')],
    ['at 9:30 tomorrow', moment('2026-11-18T08:30Z')],
    ['At 09:30  Friday', moment('2026-11-20T08:30Z')],
    ['at 09:30 tue', moment('2026-11-24T08:30Z')],
    ['at 02:30 2027-03-28', moment('2027-03-28T01:00Z')],
    ['every 15 min', { kind: 'every', every: 900_000 }],
    ['every 20s', { kind: 'every', every: 20_000 }],
    ['every 2 hours', { kind: 'every', every: 7_200_000 }],
    ['every day at 08:30', cron('30 8 * * *')],
    ['every weekday at 08:30', cron('30 8 * * 1-5')],
    ['every Sunday at 20:00', cron('0 20 * * 0')],
  ] as [string, Schedule][])('%s', (words, schedule) => {
    expect(scheduleFromWords(words, spoken)).toEqual(schedule)
  })

  test.each([
    ...['tomorrow', 'noon', 'in a while', 'in 5 days', 'every day', 'every month at 08:00', 'at 25:00', 'every 0 min'],
    ...['at 9', 'every other day at 08:00', 'at 18:00 someday', 'at 08:00 today', 'at 08:00 2026-02-31', ''],
  ])('"%s" is refused rather than guessed at', (words) => {
    expect(() => scheduleFromWords(words, spoken)).toThrow(expect.objectContaining({ code: 'bad_schedule' }))
  })

  test('the refusal shows the cron form', () => {
    expect(() => scheduleFromWords('every month', spoken)).toThrow(
      expect.objectContaining({ remedy: expect.stringContaining('--cron "30 8 * * 1-5"') }),
    )
  })

  test('a date and a time are read in the zone unless they have their own', () => {
    expect(momentFromIso('2026-12-24T18:00', spoken)).toBe(at('2026-12-24T17:00Z'))
    expect(momentFromIso('2026-12-24T18:00:00Z', spoken)).toBe(at('2026-12-24T18:00Z'))
    expect(momentFromIso('2026-12-24T18:00+02:00', spoken)).toBe(at('2026-12-24T16:00Z'))
    expect(momentFromIso('2031-02-03T04:05', spoken)).toBe(at('2031-02-03T03:05Z'))
    expect(momentFromIso('tomorrow', spoken)).toBe(undefined)
    expect(() => momentFromIso('2026-02-31T18:00', spoken)).toThrow(expect.objectContaining({ code: 'bad_schedule' }))
  })
})
