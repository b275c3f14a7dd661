// Texts for people. 64-bit numbers of the API are strings.
export function duration(millis) {
  const seconds = Math.max(0, Number(millis)) / 1000;
  if (seconds < 10) {
    return seconds.toFixed(1) + ' s';
  }
  const whole = Math.round(seconds);
  const [h, m, s] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  if (h >= 48) {
    return Math.floor(h / 24) + ' d ' + (h % 24) + ' h';
  }
  return h ? h + ' h ' + m + ' min' : m ? m + ' min ' + s + ' s' : s + ' s';
}

export function moment(epochMillis) {
  const date = new Date(Number(epochMillis));
  const two = (number, digits = 2) => String(number).padStart(digits, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ` +
      `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${two(date.getMilliseconds(), 3)}`;
}

export function clock(epochMillis) {
  return moment(epochMillis).slice(11, 19);
}

export function mode(word) {
  return word === 'SHARED' ? 'shared' : 'exclusive';
}

export function count(number, noun) {
  return number + ' ' + noun + (number === 1 ? '' : 's');
}

const WORDS = {
  GRANTED: 'was granted the lock',
  QUEUED: 'joined the queue',
  OFFERED: 'was offered the lock',
  ACCEPTED: 'accepted the offer',
  LAPSED: 'did not accept in time',
  WITHDRAWN: 'had its offer withdrawn: the store is recovering',
  RESUMED: 'came back on a new connection',
  RECLAIMED: 'proved its lease to a store that had lost it',
  RELEASE_REQUESTED: 'was asked to release',
  RELEASED: 'released the lock',
  EXPIRED: 'lost the lock: the lease expired',
  ABANDONED: 'lost the lock: the lock server ended its lease',
  FORCE_RELEASED: 'lost the lock: an operator released it',
  LEFT: 'left the queue',
  TIMED_OUT: 'waited in vain: the time was over',
  DROPPED: 'was dropped from the queue',
};

export function story(what) {
  return WORDS[what] ?? what.toLowerCase().replaceAll('_', ' ');
}
