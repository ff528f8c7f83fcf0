import type { Json } from '../../../domain/json.ts'
import { spend } from '../../effort.ts'
import type { Finding } from '../../finding.ts'
import { termsOf } from '../../text/terms.ts'
import { isNothing } from '../difference.ts'
import { forbids, guidelinesOf, sentencesOf } from '../guidelines.ts'
import type { Scene } from '../scene.ts'
import { leavesOf, quote } from '../sources.ts'

/** Kinds of things that a rule may forbid, how rules refer to each, and how to count it in a string. */
const FORBIDDEN_KINDS: readonly { name: string; called: RegExp; count: (text: string) => number }[] = [
  {
    name: 'a date',
    called:
      /\b(dates?|days?|datum|daten|fechas?|dat[aey]|dates?|jours?|días?|dags?|dagen|tage?|dni|dny|gün|tarih\w*)\b|日付|날짜/iu,
    count: text => termsOf(text).facts.filter(({ kind }) => kind === 'date').length,
  },
  {
    name: 'a price',
    called:
      /\b(prices?|amounts?|costs?|preise?n?|betr[aä]ge?|kosten|prix|montants?|precios?|importes?|prezz[io]|import[io]|prij(s|zen)|bedrag\w*|cen[ayęą]?|kwot\w*|priser?|belopp|preços?|valores?|částk\w*|fiyat\w*|tutar\w*)\b|価格|金額|가격|금액/iu,
    count: text =>
      text.match(/[€$£¥₩]\s?\d|\d\s?(?:[€$£¥₩]|eur|euros?|usd|dollars?|pounds?|chf|kr\b|zł|kč|円|원)/giu)?.length ?? 0,
  },
  {
    name: 'a name',
    called:
      /\b(\w*names?|\w*namen|noms?|nombres?|nom[ei]|apellidos?|imion\w*|imię|nazwisk\w*|\w*namn|\w*navne?|jmén\w*|isim\w*|adı)\b|氏名|名前|商品名|이름/iu,
    count: text => [...termsOf(text).words.values()].filter(({ isName }) => isName).length,
  },
  {
    name: 'a phone number',
    called: /\b(tele)?phone|telefon\w*|téléphone|teléfono|tel\.|電話|전화/iu,
    count: text => text.match(/\+?\d[\d ()/-]{6,}\d/gu)?.length ?? 0,
  },
  {
    name: 'a link',
    called: /\b(links?|urls?|liens?|enlaces?|odkaz\w*|länk\w*)\b|url|リンク|링크/iu,
    count: text => text.match(/https?:\/\//gu)?.length ?? 0,
  },
  {
    name: 'an email address',
    called: /e-?mail|correo|courriel|メール|이메일/iu,
    count: text => text.match(/\S@\S/gu)?.length ?? 0,
  },
  {
    name: 'an exclamation mark',
    called:
      /exclamation|ausrufe|exclamaci|esclamativ|uitroep|wykrzyknik|utrop|exclamaç|vykřičník|ünlem|感嘆|느낌표|"!"/iu,
    count: text => text.match(/[!！]/gu)?.length ?? 0,
  },
  {
    name: 'an emoji',
    called: /emoji|smiley|絵文字|이모티콘/iu,
    count: text => text.match(/\p{Extended_Pictographic}/gu)?.length ?? 0,
  },
  {
    name: 'a list',
    called:
      /\b(bullets?|bullet points|lists?|aufzählung\w*|listen?|puces|viñetas|elench\w*|opsomming\w*|wypunkt\w*|punktlist\w*)\b|箇条書き|목록/iu,
    count: text => text.match(/^[^\S\n]*(?:[-*•]|\d+[.)])\s/gmu)?.length ?? 0,
  },
  {
    name: 'a word in all caps',
    called:
      /capitals?|upper-?case|großbuchstab|großschreib|majuscul|mayúscul|maiuscol|hoofdletter|wielki\w* liter|versal|maiúscul|velk\w* písmen|büyük harf/iu,
    count: text => text.match(/(?<!\p{L})\p{Lu}{4,}(?!\p{L})/gu)?.length ?? 0,
  },
  {
    name: 'a number',
    called:
      /\b(numbers?|figures?|digits?|zahlen?|ziffern?|chiffres?|cifras?|cifre|números?|numer[io]|cijfers?|liczb\w*|siffror|tall|čísl\w*|sayı\w*|rakam\w*)\b|数字|숫자/iu,
    count: text => text.match(/\d+/gu)?.length ?? 0,
  },
  {
    name: 'a question',
    called:
      /\b(questions?|fragen?|preguntas?|domand[ae]|vrage?n?|pyta\w*|frågor|perguntas?|otázk\w*|soru\w*)\b|質問|질문/iu,
    count: text => text.match(/[?？]/gu)?.length ?? 0,
  },
]

/**
 * Checks whether the output contains a forbidden kind of thing that the correction doesn't, or the other way around.
 */
export function* checkProhibitions(scene: Scene): Generator<Finding> {
  const { dispute, origin } = scene
  if (dispute?.approved === undefined || isNothing(dispute.step.output)) return
  const [output, approved] = [dispute.step.output, dispute.approved].map(value => scalarsOf(value))
  const forbidding = sentencesOf(guidelinesOf(scene)).filter(forbids)
  const counts = new Map<string, readonly [had: number, has: number]>()
  for (const { text, spanId, path } of forbidding) {
    spend(FORBIDDEN_KINDS.length * text.length)
    for (const { name, count } of FORBIDDEN_KINDS.filter(kind => kind.called.test(text))) {
      if (!counts.has(name)) spend(2 * ((output?.length ?? 0) + (approved?.length ?? 0)))
      const [had, has] = counts.get(name) ?? [count(output ?? ''), count(approved ?? '')]
      counts.set(name, [had, has])
      if (had > 0 && has === 0) {
        const note = `contains ${name}, although the rule says ${quote(text)}`
        yield { kind: 'forbidden_kind_used', spanId: origin.spanId, path: 'output', note, strength: 1 }
      }
      if (has > 0 && had === 0) {
        const note = `says ${quote(text)}, but the correction contains ${name}`
        yield { kind: 'correction_breaks_rule', spanId, path, note, strength: 1 }
      }
    }
  }
}

/** The strings and numbers in a value, one per line. */
const scalarsOf = (value: Json): string =>
  [...leavesOf(value, '')]
    .flatMap(([, leaf]) => (typeof leaf === 'string' || typeof leaf === 'number' ? [String(leaf)] : []))
    .join('\n')
