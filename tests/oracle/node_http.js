// What Node's HTTP parser (llhttp) and ours make of the same traffic.
//
//   node node_http.js generate SEED CONNECTIONS out.pcap expected.txt
//   node node_http.js compare expected.txt ours.txt
//
// Connections are made up: requests and responses of every framing, pipelined or not, interim and
// early responses, odd but legal spellings, in segments of any size; some have one byte changed.
// Node's parser reads each direction, its story goes into expected.txt, a line a message, and the
// packets go into a capture; ours.txt is what http_dump prints of it. Node refuses nothing but streams with a byte changed; what it had read
// of those before must be the same, and they say nothing of the other direction.
'use strict';
const crypto = require('crypto');
const fs = require('fs');
const { HTTPParser, methods } = require('_http_common');

// --- chance, the same for the same seed ---------------------------------------------------------

let state = 1;
function random() { // mulberry32
  state = (state + 0x6d2b79f5) | 0;
  let t = Math.imul(state ^ (state >>> 15), 1 | state);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
}
const below = (n) => Math.floor(random() * n);
const chance = (p) => random() < p;
const pick = (list) => list[below(list.length)];
function letters(n) {
  let text = '';
  while (text.length < n) text += pick('abcdefghijklmnopqrstuvwxyzABCDEFGHIJ0123456789-_');
  return text;
}

// --- messages -----------------------------------------------------------------------------------

function body() {
  const n = pick([0, 1, below(20), below(300), below(9000)]);
  const bytes = Buffer.alloc(n);
  for (let i = 0; i < n; i++) bytes[i] = below(256);
  if (n > 0) bytes[0] = 0x7b; // never like an event stream
  return bytes;
}

function spell(name) {
  const how = below(3);
  return how === 0 ? name : how === 1 ? name.toLowerCase() : name.toUpperCase();
}

function field(name, value) {
  return `${spell(name)}:${pick(['', ' ', '  ', '\t', ' \t '])}${value}${pick(['', '', ' ', '\t'])}\r\n`;
}

function chunks(bytes) {
  const out = [];
  for (let i = 0; i < bytes.length;) {
    const n = Math.min(bytes.length - i, 1 + below(pick([5, 100, 5000])));
    let size = n.toString(16);
    if (chance(0.3)) size = size.toUpperCase();
    if (chance(0.2)) size = '000' + size;
    const extension = chance(0.15) ? pick([';a=b', ';a="b c;"', ';name', ';x=1;y=2']) : '';
    out.push(Buffer.from(`${size}${extension}\r\n`), bytes.subarray(i, i + n), Buffer.from('\r\n'));
    i += n;
  }
  const trailer = chance(0.2) ? `X-${letters(4)}: ${letters(6)}\r\n` : '';
  out.push(Buffer.from(`${pick(['0', '00', '0;z=1'])}\r\n${trailer}\r\n`));
  return Buffer.concat(out);
}

function fields() {
  let text = '';
  for (let n = below(6); n > 0; n--)
    text += field('X-' + letters(1 + below(12)), chance(0.1) ? '' : letters(1 + below(40)) + pick(['', ' a', ', "b"']));
  return text;
}

// Head and framed body; how: 'length', 'chunked', 'close' or 'none'.
function message(start, how, bytes, more) {
  let head = start + '\r\n' + fields();
  // no tab behind these: llhttp takes it for a part of the value, which it is not (RFC 9110, 5.5)
  if (how === 'length') head += `${spell('Content-Length')}:${pick(['', ' '])}${pick(['', '', '00'])}${bytes.length}\r\n`;
  if (how === 'chunked') head += `${spell('Transfer-Encoding')}: ${pick(['chunked', 'Chunked'])}\r\n`;
  head += more + fields() + '\r\n';
  const payload = how === 'chunked' ? chunks(bytes) : how === 'none' ? Buffer.alloc(0) : bytes;
  return Buffer.concat([Buffer.from(head, 'latin1'), payload]);
}

function request(last) {
  const method = pick(['GET', 'GET', 'HEAD', 'POST', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']);
  const how = ['POST', 'PUT', 'PATCH'].includes(method) ? pick(['length', 'chunked', 'none']) : 'none';
  const target = pick(['/', '/v1/' + letters(10), `/a?b=${letters(5)}&c=%20`, 'http://h:1/' + letters(3), '*',
                       '/' + letters(3000)]);
  const close = last && chance(0.3) ? field('Connection', pick(['close', 'x, Close'])) : '';
  const empty = pick(['', '', '', '\r\n']);
  const bytes = message(`${method} ${target} HTTP/1.1`, how, body(), field('Host', 'h') + close);
  return { method, bytes: Buffer.concat([Buffer.from(empty), bytes]) };
}

function response(method, last) {
  const parts = [];
  for (let n = chance(0.15) ? 1 + below(2) : 0; n > 0; n--)
    parts.push(message('HTTP/1.1 ' + pick(['100 Continue', '102 Processing', '103 Early Hints']), 'none', null, ''));
  const status = pick(['200 OK', '200', '200 ', '201 Created', '204 No Content', '304 Not Modified', '400 Bad one',
                       '404 Not Found', '500 Oh no']);
  const bodiless = method === 'HEAD' || /^(204|304)/.test(status);
  let how = pick(['length', 'chunked']);
  if (last && !bodiless && chance(0.2)) how = 'close';
  const bytes = body();
  let more = last && chance(0.3) ? field('Connection', 'close') : '';
  if (bodiless) {
    if (method === 'HEAD' && chance(0.5)) more += 'Content-Length: 77\r\n';
    how = 'none';
  }
  parts.push(message('HTTP/1.1 ' + status, how, bytes, more));
  return Buffer.concat(parts);
}

// --- Node's story -------------------------------------------------------------------------------

const digest = (bytes) => crypto.createHash('sha256').update(bytes).digest('hex').slice(0, 16);

function node(type, pieces, heads) {
  const parser = new HTTPParser();
  const told = [];
  let pairs = [], path = '', message = null, finals = 0;
  parser.initialize(type, {});
  parser[HTTPParser.kOnHeaders | 0] = (more, url) => { pairs = pairs.concat(more); path += url; };
  parser[HTTPParser.kOnHeadersComplete | 0] = (major, minor, headers, method, url, status) => {
    message = { method: methods[method], url: path + (url || ''), status, pairs: pairs.concat(headers || []), body: [], complete: false };
    pairs = [];
    path = '';
    told.push(message);
    const interim = status >= 100 && status < 200;
    const answered = type === HTTPParser.RESPONSE && !interim ? heads[finals++] : undefined;
    return answered === 'HEAD' ? 1 : 0;
  };
  parser[HTTPParser.kOnBody | 0] = (bytes) => { message.body.push(Buffer.from(bytes)); };
  parser[HTTPParser.kOnMessageComplete | 0] = () => { message.complete = true; pairs = []; path = ''; };
  let refused = false;
  for (const piece of pieces) {
    if (parser.execute(piece) instanceof Error) {
      refused = true;
      break;
    }
  }
  if (!refused && parser.finish() instanceof Error) refused = true;
  parser.close();
  return { told, refused };
}

function tell(port, nth, kind, m, interim) {
  let text = '';
  for (let i = 0; i < m.pairs.length; i += 2) text += `${m.pairs[i].toLowerCase()}:${m.pairs[i + 1]}\n`;
  const bytes = Buffer.concat(m.body);
  const what = kind === 'Q' ? `${m.method} ${m.url}` : `${m.status} interim=${interim}`;
  return `${port} ${nth} ${kind} ${what} fields=${digest(Buffer.from(text, 'latin1'))} ` +
         `body=${bytes.length}:${digest(bytes)} ${m.complete ? 'complete' : 'open'}`;
}

// --- packets ------------------------------------------------------------------------------------

class Capture {
  constructor() {
    const head = Buffer.alloc(24);
    head.writeUInt32LE(0xa1b2c3d4, 0);
    head.writeUInt16LE(2, 4);
    head.writeUInt16LE(4, 6);
    head.writeUInt32LE(262144, 16);
    head.writeUInt32LE(101, 20); // raw IP
    this.parts = [head];
    this.us = 0;
  }

  packet(from, to, seq, ack, flags, data) {
    const n = 40 + data.length, p = Buffer.alloc(16 + 40);
    this.us += 1 + below(2000);
    p.writeUInt32LE(1700000000 + Math.floor(this.us / 1e6), 0);
    p.writeUInt32LE(this.us % 1e6, 4);
    p.writeUInt32LE(n, 8);
    p.writeUInt32LE(n, 12);
    p.writeUInt8(0x45, 16);
    p.writeUInt16BE(n, 18);
    p.writeUInt8(64, 24);
    p.writeUInt8(6, 25);
    p.writeUInt32BE(0x7f000001, 28);
    p.writeUInt32BE(0x7f000001, 32);
    p.writeUInt16BE(from, 36);
    p.writeUInt16BE(to, 38);
    p.writeUInt32BE(seq >>> 0, 40);
    p.writeUInt32BE(ack >>> 0, 44);
    p.writeUInt8(0x50, 48);
    p.writeUInt8(flags, 49);
    p.writeUInt16BE(65535, 50);
    this.parts.push(p, data);
  }

  // pieces: [0 client or 1 server, bytes]
  connection(port, pieces) {
    const ports = [port, 80], seq = [below(2 ** 32), below(2 ** 32)], none = Buffer.alloc(0);
    const send = (side, flags, data) => {
      const ack = flags === 2 ? 0 : seq[1 - side];
      this.packet(ports[side], ports[1 - side], seq[side], ack, flags, data);
      seq[side] = (seq[side] + data.length + (flags & 3 ? 1 : 0)) >>> 0;
    };
    send(0, 2, none);
    send(1, 18, none);
    send(0, 16, none);
    for (const [side, bytes] of pieces) send(side, 24, bytes);
    send(0, 17, none);
    send(1, 17, none);
    send(0, 16, none);
  }
}

function cut(side, bytes) {
  const out = [], most = pick([1, 7, 100, 1460, 60000]);
  if (most === 1 && bytes.length > 2000) return cut(side, bytes);
  for (let i = 0; i < bytes.length;) {
    const n = Math.min(bytes.length - i, 1 + below(most));
    out.push([side, bytes.subarray(i, i + n)]);
    i += n;
  }
  return out;
}

// --- a connection -------------------------------------------------------------------------------

function spoil(pieces, side) {
  const all = pieces.filter(([s, bytes]) => s === side && bytes.length > 0);
  if (all.length === 0) return;
  const bytes = pick(all)[1];
  bytes[below(bytes.length)] = below(256);
}

const headOver = (pieces) => Buffer.concat(pieces.map(([, bytes]) => bytes)).includes('\r\n\r\n', 4);

function connection(port, capture, expected) {
  const n = 1 + below(5), pipelined = chance(0.3), spoiled = chance(0.15) ? below(2) : -1;
  const heads = [], later = [];
  let pieces = [];
  for (let i = 0; i < n; i++) {
    const last = i === n - 1, q = request(last), a = cut(1, response(q.method, last));
    const asked = cut(0, q.bytes);
    heads.push(q.method);
    if (pipelined) {
      pieces.push(...asked);
      later.push(...a);
    } else if (headOver(asked.slice(0, -1)) && chance(0.2)) { // the answer comes before the question is over
      pieces.push(...asked.slice(0, -1), ...a, asked[asked.length - 1]);
    } else {
      pieces.push(...asked, ...a);
    }
  }
  pieces = pieces.concat(later).map(([side, bytes]) => [side, Buffer.from(bytes)]);
  if (spoiled >= 0) spoil(pieces, spoiled);
  capture.connection(port, pieces);
  const of = (side) => pieces.filter(([s]) => s === side).map(([, bytes]) => bytes);
  const asked = node(HTTPParser.REQUEST, of(0), null), said = node(HTTPParser.RESPONSE, of(1), heads);
  const lines = (story, kind) => {
    let nth = 0, interim = 0;
    for (const m of story.told) {
      if (m.status >= 100 && m.status < 200) {
        interim++;
        continue;
      }
      if (!story.refused || m.complete) expected.push(tell(port, nth, kind, m, interim));
      nth++;
      interim = 0;
    }
    if (story.refused) expected.push(`${port} refused ${kind}`);
  };
  if (spoiled !== 1) lines(asked, 'Q');
  if (spoiled !== 0) lines(said, 'A');
  if (spoiled >= 0) expected.push(`${port} spoiled`);
}

// --- the two commands ---------------------------------------------------------------------------

function generate(seed, connections, pcap, out) {
  state = Number(seed);
  const capture = new Capture(), expected = [];
  for (let i = 0; i < Number(connections); i++) connection(10000 + i, capture, expected);
  fs.writeFileSync(pcap, Buffer.concat(capture.parts));
  fs.writeFileSync(out, expected.join('\n') + '\n', 'latin1');
}

// The lines of tell() for what http_dump prints.
function retell(dumped) {
  const x = JSON.parse(dumped), q = x.request, a = x.response;
  if (q === undefined) return []; // a connection
  const end = (m) => `fields=${m.fields.slice(0, 16)} body=`, over = (m) => (m.complete ? 'complete' : 'open');
  const id = `${x.client.split(':')[1]} ${x.nth}`;
  const asked = `${id} Q ${q.method} ${q.target} ${end(q)}${q.bytes}:${q.body.slice(0, 16)} ${over(q)}`;
  if (a.status === 0) return [asked];
  return [asked, `${id} A ${a.status} interim=${a.interim} ${end(a)}${a.bytes}:${a.body.slice(0, 16)} ${over(a)}`];
}

function compare(expectedPath, oursPath) {
  // what is no UTF-8 in a target was replaced in ours
  const read = (path) => fs.readFileSync(path, 'utf8').split('\n').filter((line) => line !== '');
  const plain = (line) => line.replace(/\ufffd+/g, '?');
  const expected = read(expectedPath).map(plain), bad = [];
  const have = new Set(read(oursPath).flatMap(retell).map(plain));
  const spoiled = new Set(); // connections of which we may say more
  let checked = 0;
  for (const line of expected) {
    const [port, second] = line.split(' ');
    if (second === 'spoiled') spoiled.add(port);
  }
  for (const line of expected) {
    const [port, second] = line.split(' ');
    if (second === 'spoiled' || (second === 'refused' && spoiled.has(port))) continue;
    checked++;
    if (!have.delete(line)) bad.push(`only Node: ${line}`);
  }
  for (const line of have)
    if (!spoiled.has(line.split(' ')[0])) bad.push(`only we:   ${line}`);
  for (const line of bad.slice(0, 40)) console.error(line.slice(0, 300));
  console.log(`${checked} messages compared, ${spoiled.size} connections spoiled, ${bad.length} differences`);
  process.exitCode = bad.length > 0 || checked < 100 ? 1 : 0;
}

const [command, ...rest] = process.argv.slice(2);
if (command === 'generate') generate(...rest);
else if (command === 'compare') compare(...rest);
else process.exitCode = 2;
